"""The report: what it says, that it is sound HTML for everyone, and that nothing from a file is more than text."""

import errno
import json
import os
import re
import subprocess
import sys
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from browser import chromium, needs_browser, watched
from msgspec.structs import replace
from run_folders import make_run
from scipy.stats import binomtest

import safegain
from safegain.certificates.power import required_trusted
from safegain.report import report_html, write_report
from safegain.report.comparing import binomial_interval
from safegain.report.page import _disagree
from safegain.report.searching import walk
from safegain.report.trust import BINS, matrix, panels
from safegain.report.words import chance, cleaned, cut, label, number
from safegain.runs import RunError, open_run
from safegain.runs.facts import Facts, Record, Verdict

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(HTMLParser):
    """Elements and text of a page; raises where tags do not balance."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def having(self, *tags: str) -> list[dict]:
        return [attributes for tag, attributes in self.elements if tag in tags]


def change(folder: Path, **facts) -> Path:
    """Other facts in run.json; some of those of an object leave its others."""
    found = json.loads((folder / "run.json").read_text())
    for name, value in facts.items():
        found[name] = found[name] | value if isinstance(found[name], dict) and value else value
    (folder / "run.json").write_text(json.dumps(found))
    return folder


def page(folder: Path) -> Page:
    return Page(write_report(folder).read_text(encoding="utf-8"))


def failed(folder: Path) -> dict:
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    entry = {**certificate["entries"][0], "won": 22, "lost": 16, "gain": 0.03, "p_value": 0.21, "certified": False}
    return {**certificate, "certified": False, "p_value": 0.21, "entries": [{**entry, "lower_bound": -0.02}]}


def test_a_certified_gain_is_the_first_thing_said(tmp_path):
    text = page(make_run(tmp_path / "my run")).text
    found = [
        "Improved",
        "The new model makes fewer mistakes than a model trained on your labels and the trusted rows together",
        "If the new model were in truth no better, rows like these would have fooled us in at most 5 of 100 cases",
        "rows like the 200 fresh ones",
        "the new model alone was right on 30, the reference alone on 10",
        "its gain is at least 4 of 100 rows",
        "safegain predict 'my run' new.csv",
        "safegain review 'my run'",
        "The models side by side",
        "Where it gains, and where not",
        "The new model does worse on north and south",
        "How the search went",
        "How far each label is trusted",
        "Which labels are taken for which",
        "The 30 most suspicious rows",
        "A suggestion is no order",
        "Settings and exact numbers",
        "the label has 3 different words: classes",
    ]
    places = [text.index(words) for words in found]
    assert places == sorted(places)
    assert "no proof" not in text
    assert "would settle it" not in text


def test_a_comparison_is_not_called_a_proof(tmp_path):
    folder = change(make_run(tmp_path / "run"), certificate=None, verdict={"outcome": "safe", "reference": "raw"})
    text = page(folder).text
    assert (
        "On the trusted rows at hand, the new model is not worse, chance aside, than a model trained on your labels"
        in text
    )
    assert "This is a comparison on the 30 trusted rows at hand and no proof" in text
    assert "certified" not in text
    disagree = open_run(folder).labels["disagrees"].mean()
    needed = required_trusted(0.2 - 0.125, max(disagree, 0.075), 0.05, 0.8)
    told = int(re.search(r"about ([\d,]+) fresh trusted rows would prove it", text)[1].replace(",", ""))
    assert needed <= told <= 1.1 * needed + 1


def test_a_fall_back_says_that_nothing_was_lost_and_what_it_would_take(tmp_path):
    folder = make_run(tmp_path / "run")
    change(folder, certificate=failed(folder), verdict={"outcome": "fell back", "reference": "trusted"})
    text = page(folder).text
    assert "nothing was changed: you have a model trained on the trusted rows alone" in text
    assert "A test on 200 fresh rows did not certify the new model" in text
    assert "in up to 21 of 100 cases" in text
    needed = required_trusted(0.03, 38 / 200, 0.05, 0.8)
    told = int(re.search(r"about ([\d,]+) fresh trusted rows would prove it", text)[1].replace(",", ""))
    assert needed <= told <= 1.1 * needed + 1


def fallen_back(folder: Path, reference: str = "raw", **facts) -> Path:
    """As a fit leaves it: weights are 1, nothing is suspicious, and each set has the reference against itself."""
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet")
    labels = labels.assign(suspicion=0.0, confidence=0.0, weight=1.0, suggested=None, corrected=labels["given"])
    labels.assign(disagrees=False).to_parquet(folder / "labels-1-of-1.parquet", index=False)
    margins = [{"name": "held-out rows", "raw_loss": 0.8, "new_loss": 0.8, "margin": 0.0}]
    verdict = {"outcome": "fell back", "reference": reference, "sentence": "Fell back: the refit was not better."}
    return change(folder, certificate=None, margins=margins, verdict=verdict, n_suspicious=0, **facts)


@pytest.mark.parametrize(
    ("reference", "words"),
    [("raw", "which takes them as they are"), ("trusted", "alone: doubtful labels were not used at all")],
)
def test_labels_that_were_not_judged_are_not_called_good(tmp_path, reference, words):
    text = page(fallen_back(make_run(tmp_path / "run"), reference)).text
    assert text.count("Labels were not judged, as no new model was handed back") == 1
    assert words in text
    wrong = ("Every label counts", "No label is", "How far each label", "taken for which", "Where it gains")
    assert not [each for each in wrong if each in text]
    assert "The models side by side" in text
    assert "These were the candidates" in text
    assert "that it had not learned from. More rows right is better." in text


def test_numbers_far_from_the_reference_are_shown_after_a_fall_back(tmp_path):
    verdict = {"outcome": "fell back", "reference": "raw"}
    text = page(change(make_run(tmp_path / "run", task="numbers"), certificate=None, verdict=verdict)).text
    assert "The 30 most suspicious rows" in text
    assert "not judged" not in text
    assert "How far each label" not in text


def test_where_nothing_was_compared_the_fit_says_why(tmp_path):
    few = "Fell back: 30 trusted rows are too few to compare models on some of them <b>, so this is the reference."
    folder = fallen_back(make_run(tmp_path / "run"), models=[])
    text = page(change(folder, verdict={"sentence": few})).text
    assert text.count(few) == 1
    assert text.index(few) < text.index("What to do now")
    assert "This is a comparison" not in text


def test_a_smaller_loss_with_more_mistakes_is_told_as_both(tmp_path):
    def told(loss: float, mistakes: float) -> str:
        new = {"name": "new", "n": 400, "loss": loss, "mistakes": mistakes, "role": "new"}
        old = {"name": "raw", "n": 400, "loss": 0.5, "mistakes": 0.1, "role": "reference"}
        change(folder, models=[old, new], verdict={"outcome": "safe", "reference": "raw"}, certificate=None)
        return page(folder).text

    folder = make_run(tmp_path / "run")
    both = "as they are: it is surer, with a smaller loss, but makes 44 mistakes against 40."
    assert both in told(0.4, 0.11)
    assert "surer" not in told(0.4, 0.1)
    assert "surer" not in told(0.6, 0.11)


def test_a_run_saved_without_its_rows_does_not_tell_how_many_it_takes(tmp_path):
    folder = change(make_run(tmp_path / "run"), certificate=None, verdict={"outcome": "safe", "reference": "raw"})
    assert "How many more rows would settle it" in page(folder).text
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").drop(columns=["effect", "disagrees", "digest"])
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    assert _disagree(open_run(folder)) is None
    assert "How many more rows would settle it" not in page(folder).text


@pytest.mark.parametrize(("task", "words"), [("numbers", "how surethat it is wrong: "), ("classes", "this is")])
def test_a_number_is_doubted_and_a_class_suggested(tmp_path, task, words):
    folder = make_run(tmp_path / "run", task=task)
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").assign(confidence=0.83)
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    assert page(folder).text.count(f"{words}very likely (0.83)") == 30


@pytest.mark.parametrize(
    ("change_of_entry", "words"),
    [
        ({"n": 4, "won": 3, "lost": 1}, "it takes at least 5"),
        ({"gain": -0.01}, "showed no gain"),
        ({"won": 0, "lost": 0, "gain": 0.0}, "showed no gain"),
        ({"test": "betting", "measure": "brier"}, "roughly 1,300 fresh trusted rows"),  # 200 (0.05 / 0.03 * 1.51)^2
    ],
)
def test_how_many_rows_it_takes_for_other_tests(tmp_path, change_of_entry, words):
    folder = make_run(tmp_path / "run")
    certificate = failed(folder)
    certificate["entries"][0] |= change_of_entry
    change(folder, certificate=certificate, verdict={"outcome": "fell back", "reference": "raw"})
    assert words in page(folder).text


def test_numbers_have_a_typical_error_in_their_own_units(tmp_path):
    folder = make_run(tmp_path / "run", task="numbers")
    models = [
        {"name": "raw", "n": 40, "loss": 144.0, "mistakes": None, "role": "reference"},
        {"name": "new", "n": 40, "loss": 81.0, "mistakes": None, "role": "new"},
    ]
    groups = [{"name": "north", "n": 15, "reference": 25.0, "new": 36.0}]
    text = page(change(folder, models=models, by_group=groups)).text
    assert "Your labels as they are ◇ the reference12" in text
    assert "New model9" in text
    assert "▲ 1 worse" in text
    assert "is closer to the truth than" in text
    assert "the new model was closer on 30, the reference on 10" in text
    assert "Points on the dashed line would need no change" in text
    assert "of 100 rows" not in text.split("How far each label")[0]


def test_a_run_saved_from_python_reads_well(tmp_path):
    folder = change(make_run(tmp_path / "run"), columns=None, files=None, notes=[], label=None, by_group=None)
    for name in ("examples.parquet", "neighbours.parquet"):
        (folder / name).unlink()
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").drop(columns=["id", "group"])
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    found = page(folder)
    assert "model.predict(X_new)" in found.text
    assert "safegain predict" not in found.text
    assert "The 30 most suspicious rows" in found.text
    assert "None" not in found.text
    assert not found.having("img")


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_facts_that_are_not_known_leave_their_section_out(tmp_path, task):
    folder = make_run(tmp_path / "run", task=task)
    facts = json.loads((folder / "run.json").read_text())
    unknown = dict.fromkeys(("seconds", "label", "columns", "files", "certificate", "by_class", "by_group", "verdict"))
    unknown |= dict.fromkeys(("seed", "rows", "estimator", "versions", "created", "safegain"))
    unknown |= {name: [] for name in ("notes", "models", "margins", "history")}
    for name, value in unknown.items():
        report_html(open_run(change(folder, **{name: value, "certificate": None})))
        (folder / "run.json").write_text(json.dumps(facts))
    text = page(change(folder, **unknown)).text
    assert "The models side by side" not in text
    assert "most suspicious rows" in text


def test_a_run_without_suspicious_rows(tmp_path):
    folder = make_run(tmp_path / "run")
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").assign(suspicion=0.0, weight=1.0, suggested=None)
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    text = page(folder).text
    assert "Every label counts in full" in text
    assert "No label is suspicious" in text
    assert "taken for which" not in text


def test_later_certificates_are_told(tmp_path):
    folder = make_run(tmp_path / "run")
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    change(folder, certificate=None, verdict={"outcome": "safe", "reference": "raw"})
    (folder / "certificate-1.json").write_text(json.dumps(failed(make_run(tmp_path / "other"))))
    (folder / "certificate-2.json").write_text(json.dumps({**certificate, "created": "2026-02-03T00:00:00+00:00"}))
    text = page(folder).text
    assert "Certificate 1: not certified" in text
    assert "Certificate 2: certified, 3 February 2026" in text
    assert "A later test on fresh rows has certified it. If the new model were in truth no better" in text


def test_a_tolerance_and_a_limit_of_many_rows_are_said(tmp_path):
    folder = make_run(tmp_path / "run")
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    certificate["entries"][0] |= {"tolerance": 0.02, "test": "sign test with tolerance"}
    change(folder, certificate={**certificate, "asymptotic": True}, verdict={"outcome": "safe", "reference": "raw"})
    text = page(folder).text
    assert "were in truth worse by 2 of 100 rows or more" in text
    assert "models trained in the new way, not for this one alone" in text


def test_a_certificate_by_another_measure_does_not_speak_of_mistakes(tmp_path):
    folder = make_run(tmp_path / "run")
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    certificate["entries"].append({**certificate["entries"][0], "measure": "brier", "p_value": 0.002})
    text = page(change(folder, certificate=certificate)).text
    assert "The new model does better, by every measure that was asked for, than" in text
    assert "It passed all 2 tests" in text
    assert "its gain is at least 0.04 in brier" in text


def test_ranges_are_exact_binomial_intervals():
    for k, n in [(0, 7), (3, 30), (30, 30), (120, 1000)]:
        known = binomtest(k, n).proportion_ci(0.95, method="exact")
        assert binomial_interval(k, n) == pytest.approx((known.low, known.high), abs=1e-9)


def test_panels_count_every_labelled_weak_row_once(tmp_path):
    labels = open_run(make_run(tmp_path / "run", n=2000, words=[f"class {i}" for i in range(40)])).labels
    found = panels(labels, "classes")
    weak = labels[~labels["trusted"]]
    assert [panel.name for panel in found[-1:]] == ["28 other labels"]
    assert sum(panel.n for panel in found) == len(weak)
    for panel in found[:-1]:
        left = 1 - weak.loc[weak["given"] == panel.name, "suspicion"]
        assert panel.mean == pytest.approx(left.mean())
        assert panel.share == pytest.approx(np.histogram(left, BINS, (0, 1))[0] / len(left))
    numbers = panels(open_run(make_run(tmp_path / "numbers", task="numbers")).labels, "numbers")
    assert [panel.n for panel in numbers] == [60, 60, 60, 60]


def test_the_matrix_is_a_cross_table(tmp_path):
    issues = open_run(make_run(tmp_path / "few", n=900)).issues
    found = matrix(issues, ["otter", "dog", "cat"])
    known = pd.crosstab(issues["given"], issues["suggested"])
    assert found.names == ["otter", "dog", "cat"]
    assert (found.counts == known.loc[found.names, found.names].to_numpy()).all()
    assert found.largest[0][2] == known.to_numpy().max()
    issues = open_run(make_run(tmp_path / "many", n=3000, words=[f"c{i}" for i in range(70)])).issues
    many = matrix(issues, None)
    assert many.names[-1] == "51 others"
    assert many.counts.sum() == len(issues)


def test_whole_numbers_with_holes_are_whole_numbers_again(tmp_path):
    issues = pd.DataFrame({"given": [1.0, 2.0], "suggested": [2.0, 1.0]})
    assert matrix(issues, [2, 1]).names == ["2", "1"]
    assert [label(v) for v in (True, np.True_, 3, 2.5, None, "", np.nan, 1e300)] == [
        *("True", "True", "3", "2.5", "(none)", "(empty)", "(none)", "1e+300"),
    ]


def test_the_step_that_is_ringed_is_the_safe_one_with_the_least_loss():
    losses = [(1.0, True), (0.4, False), (0.6, True), (0.6, True), (0.7, True)]
    history = [Record(step=i, rank_loss=loss, safe=safe) for i, (loss, safe) in enumerate(losses)]
    facts = Facts(format=2, task="classes", history=history)
    assert walk(facts).kept.step == 2
    assert walk(replace(facts, verdict=Verdict("fell back", "raw"))).kept is None
    twice = [replace(record, fold=fold) for fold in (0, 1) for record in history]
    assert [len(run) for run in walk(replace(facts, history=twice)).runs] == [5, 5]


def test_a_search_with_steps_is_drawn(tmp_path):
    history = [{"step": i, "rank_loss": 1 / (i + 1), "safe": i != 3, "violation": 0.0} for i in range(6)]
    html = report_html(open_run(change(make_run(tmp_path / "run"), history=history)))
    assert "Step 5 was kept" in html
    assert "kept: step 5" in html


def test_numbers_in_words():
    assert [chance(p) for p in (0.05, 0.001, 0.0123, 0.21, 1.0, 0.0)] == [
        *("5 of 100", "1 of 1,000", "2 of 100", "21 of 100", "100 of 100", "1 of 1,000,000"),
    ]
    assert [number(v) for v in (1234567, 999.7, 0.12345, 1e-9, None, float("nan"), True)] == [
        *("1,234,567", "1,000", "0.123", "1e-09", "–", "–", "–"),
    ]
    assert cut("漢" * 50, 10) == "漢漢漢漢…"
    assert cut("a" * 10_000, 10) == "a" * 9 + "…"
    assert cut("ab  \n c", 10) == "ab c"
    assert cleaned("a\x00\ud800b") == "a\ufffd\ufffdb"


def test_a_reports_figures_are_the_same_whatever_the_users_own_style_is(tmp_path):
    run = open_run(make_run(tmp_path / "run"))
    plain = report_html(run)
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "axes.facecolor": "black"}):
        before = dict(matplotlib.rcParams)
        assert report_html(run) == plain
        assert dict(matplotlib.rcParams) == before


def test_neither_torch_nor_pyplot_is_loaded():
    """In a process of its own, without what the package itself imports."""
    code = """
import sys, types
package = types.ModuleType("safegain")
package.__path__ = [sys.argv[1]]
sys.modules["safegain"] = package
import safegain.report
print(*sys.modules)
"""
    package = Path(safegain.__file__).parent
    ran = subprocess.run([sys.executable, "-c", code, package], capture_output=True, text=True, check=True)
    assert not {"torch", "matplotlib.pyplot"} & set(ran.stdout.split())
    assert "safegain.report.page" in ran.stdout


def test_a_report_that_fails_in_the_midst_of_writing_leaves_the_old_one(tmp_path, monkeypatch):
    folder = make_run(tmp_path / "run")
    before = write_report(folder).read_bytes()
    names = {path.name for path in folder.iterdir()}
    plain = Path.write_text

    def half(self, text, **options):
        plain(self, text[:100], **options)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", half)
        with pytest.raises(OSError, match="No space"):
            write_report(folder)
    assert (folder / "report.html").read_bytes() == before
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.parametrize(
    ("of_entry", "words"),
    [
        ({"bound": 0.0}, r"`float` > 0.0 - at `\$.certificate.entries\[0\].bound`"),
        ({"delta": 1.0}, r"`float` < 1.0 - at `\$.certificate.entries\[0\].delta`"),
        ({"p_value": -0.5}, r"`float` >= 0.0 - at `\$.certificate.entries\[0\].p_value`"),
        ({"won": -1}, r"`int` >= 0 - at `\$.certificate.entries\[0\].won`"),
        ({"tolerance": -0.1}, r"`float` >= 0.0 - at `\$.certificate.entries\[0\].tolerance`"),
        ({"tolerance": 1.0}, "does not go with the run's other files: ZeroDivisionError"),
        ({"gain": 0.9}, "does not go with the run's other files: ValueError: gain"),
        ({"test": "betting", "lower_bound": -1e308, "gain": 1e-300}, "OverflowError"),
    ],
)
def test_a_certificate_that_no_test_gives_is_damage(tmp_path, of_entry, words):
    folder = make_run(tmp_path / "run")
    certificate = failed(folder)
    certificate["entries"][0] |= of_entry
    change(folder, certificate=certificate)
    with pytest.raises(RunError, match=rf"run\.json: is damaged .*{words}.*; fit again$"):
        write_report(folder)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"step": "$\\frac"}, r"`int | null`, got `str` - at `\$.history\[1\].step`"),
        ({"step": 10**400}, r"`int` <= 9223372036854775807 - at `\$.history\[1\].step`"),
        ({"rank_loss": 10**400}, r"Number out of range - at `\$.history\[1\].rank_loss`"),
        ({"mistakes": 10**400, "candidate": "new"}, r"Number out of range - at `\$.history\[1\].mistakes`"),
        ({"rank_loss": -1e308}, "does not go with the run's other files"),
    ],
)
def test_a_history_that_no_search_leaves_is_damage(tmp_path, record, words):
    first, last = {"step": 0, "rank_loss": 1e308}, {"step": 1, "rank_loss": 0.5}
    folder = change(make_run(tmp_path / "run"), history=[first, last | record])
    with pytest.raises(RunError, match=rf"run\.json: is damaged .*{words}.*; fit again$"):
        write_report(folder)


def test_steps_without_a_number_are_counted():
    history = [Record(step=None, rank_loss=1.0), Record(rank_loss=0.5)]
    assert [step.step for step in walk(Facts(format=2, task="classes", history=history)).runs[0]] == [0, 1]


def test_a_large_run_makes_a_small_report(tmp_path):
    """As much of everything as there can be: many classes and columns, long texts, pictures that do not pack."""
    words = [f"{i} " + "long text " * 200 for i in range(300)]
    folder = make_run(tmp_path / "run", n=1000, words=words)
    noise = np.random.default_rng(0).bytes(60_000)
    examples = pd.read_parquet(folder / "examples.parquet")
    examples["picture"] = [b"\x89PNG\r\n\x1a\n" + noise] * len(examples)
    examples.to_parquet(folder / "examples.parquet")
    history = [{"step": i, "rank_loss": 1 / (i + 1), "safe": True} for i in range(5000)]
    change(folder, history=history, columns=dict.fromkeys(words, "text"))
    assert len(page(folder).having("img")) == 30
    assert (folder / "report.html").stat().st_size < 3_000_000


# -- for everyone -----------------------------------------------------------------------------------------------------


def runs(tmp_path) -> dict[str, Path]:
    """One of each kind."""
    history = [{"step": i, "rank_loss": 1 / (i + 1), "safe": i != 3} for i in range(6)]
    folders = {
        "classes": make_run(tmp_path / "classes", pictures=True),
        "numbers": change(make_run(tmp_path / "numbers", task="numbers"), history=history, certificate=None),
        "many": make_run(tmp_path / "many", n=1500, words=[f"class {i}" for i in range(30)]),
    }
    change(folders["many"], certificate=failed(folders["many"]), verdict={"outcome": "fell back", "reference": "raw"})
    return folders


@pytest.mark.parametrize("name", ["classes", "numbers", "many"])
def test_the_page_is_sound_and_has_words_for_every_picture(tmp_path, name):
    found = page(runs(tmp_path)[name])
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert not [each for each, n in Counter(ids).items() if n > 1]
    pictures = found.having("img", "svg")
    assert pictures
    for picture in pictures:
        named = picture.get("alt") or picture["aria-labelledby"]
        assert named.strip()
        assert set(picture.get("aria-labelledby", "").split()) <= set(ids)
    for attributes in found.having("use"):
        assert attributes["xlink:href"].removeprefix("#") in ids
    levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attributes.get("scope") in ("col", "row") for attributes in found.having("th"))
    assert found.having("html")[0]["lang"] == "en"
    assert not found.having("script", "link", "iframe", "base", "form")


@needs_browser
def test_text_can_be_read_in_light_and_dark_and_on_a_phone(tmp_path):
    paths = [write_report(folder) for folder in runs(tmp_path).values()]
    with chromium() as context:
        tab = watched(context)
        for path in paths:
            tab.page.goto(path.as_uri())
            for scheme in ("light", "dark"):
                tab.page.set_viewport_size({"width": 390, "height": 800})
                tab.page.emulate_media(media="screen", color_scheme=scheme)
                assert tab.page.evaluate("document.documentElement.scrollWidth") <= 390
                faint = tab.page.evaluate(CONTRAST)
                assert not faint, (path.parent.name, scheme, faint[:5])
            tab.page.emulate_media(media="print", color_scheme="dark")
            assert tab.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
            assert not tab.page.evaluate(CONTRAST)
        assert not tab.messages


# Texts whose contrast with what lies behind them is below 4.5 (WCAG 2, AA).
CONTRAST = """() => {
  const parse = c => { const v = c.match(/[\\d.]+/g).map(Number); return v.length < 4 ? [...v, 1] : v; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3]));
  const linear = v => v / 255 <= .04045 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.map(linear);
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { const stack = [];
    for (; e; e = e.parentElement) stack.push(parse(getComputedStyle(e).backgroundColor));
    return stack.reverse().reduce((below, c) => over(c, below), [255, 255, 255]); };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ["title", "desc", "STYLE"].includes(e.tagName)) continue;
    seen += 1;
    const style = getComputedStyle(e), paper = behind(e);
    const ink = over(parse(e.ownerSVGElement ? style.fill : style.color), paper);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) found.push([walker.currentNode.data.trim().slice(0, 40), ink, paper]);
  }
  return seen > 50 ? found : [["too little text was seen", seen]];
}"""


# -- hostile text -----------------------------------------------------------------------------------------------------

SET = "window.hit=1"
HOSTILE = [
    f"<script>{SET}</script>",
    f"</script><script>{SET}</script>",
    f"</style><script>{SET}</script>",
    f"</title><script>{SET}</script>",
    f"</svg><script>{SET}</script>",
    f"<img src=x onerror={SET}>",
    f'"><img src=x onerror="{SET}">',
    f"'><img src=x onerror='{SET}'>",
    f"<svg onload={SET}>",
    f"<svg><script>{SET}</script></svg>",
    f"<svg><animate onbegin={SET} attributeName=x dur=1s>",
    f'<svg><a xlink:href="javascript:{SET}"><text>x</text></a></svg>',
    f"<body onload={SET}>",
    f"<details open ontoggle={SET}>",
    f"<input autofocus onfocus={SET}>",
    f'" autofocus onfocus="{SET}',
    f"' onmouseover='{SET}",
    f"javascript:{SET}",
    f"JaVaScRiPt:{SET}//",
    f"data:text/html,<script>{SET}</script>",
    f'<a href="javascript:{SET}">x</a>',
    f'<iframe srcdoc="<script>parent.hit=1</script>"></iframe>{SET}',
    '<iframe src="http://evil.example/"></iframe>',
    '<link rel="stylesheet" href="http://evil.example/a.css">',
    '<meta http-equiv="refresh" content="0;url=http://evil.example/">',
    '<base href="http://evil.example/">',
    '<form action="http://evil.example/"><button>x</button></form>',
    '<object data="http://evil.example/"></object>',
    '<img src="http://evil.example/a.png">',
    '<use href="http://evil.example/a.svg#x"/>',
    "<style>body{background:url(http://evil.example/a)}</style>",
    "red;background:url(http://evil.example/a)",
    "}*{background:url(http://evil.example/a)}",
    "@import 'http://evil.example/a.css';",
    "<!-- --><b>bold</b><!--",
    "]]><b>bold</b>",
    "{{ 7 * 7 }}{{ ''.__class__.__mro__ }}",
    "{% for x in range(9) %}x{% endfor %}${7*7}<%= 7*7 %>",
    "$\\frac{",
    "$\\input{/etc/passwd}$",
    "_^{\\ %s %(x)s {0} {facts}",
    "&lt;b&gt; &amp; &#60; &nbsp;",
    "`'\"\\\\\"'`",
    "null\x00byte\x07bell\x1b[31mred",
    "\u202eabc\u202c \u2066def \u200f\u200e\ufeff",
    "عربى שלום 漢字 👩‍👩‍👧 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
    '=HYPERLINK("http://evil.example/","x")',
    "+1+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "../../../etc/passwd",
    "C:\\..\\..\\boot.ini\n-rf /; $(touch x) | `id`",
    "long" * 2500,
    "q000qnnn",
    " ",
]


def hostile_run(folder: Path) -> Path:
    """Hostile words wherever a file's words go: classes, columns, files, groups, sets, texts, ids, notes, settings."""
    make_run(folder, n=400, words=HOSTILE)
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet")
    weak = (~labels["trusted"]).cumsum().to_numpy() - 1
    labels["suspicion"] = np.where(labels["trusted"], 0.0, np.where(weak < len(HOSTILE) + 5, 1 - weak / 1000, 0.0))
    labels["given"] = [HOSTILE[i % len(HOSTILE)] for i in range(len(labels))]
    labels["suggested"] = [HOSTILE[(i + 1) % len(HOSTILE)] for i in range(len(labels))]
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    facts = json.loads((folder / "run.json").read_text())
    pairs = [{"name": word, "n": 9, "reference": 0.3, "new": 0.1 + i / 500} for i, word in enumerate(HOSTILE)]
    sets = [{"name": word, "raw_loss": 1.0, "new_loss": i / 90, "margin": 0.1} for i, word in enumerate(HOSTILE)]
    facts["certificate"]["entries"][0] |= {"name": HOSTILE[0], "measure": HOSTILE[6], "test": HOSTILE[37]}
    return change(
        folder,
        by_class=pairs,
        by_group=pairs[::-1],
        margins=sets,
        notes=[*HOSTILE, "\ud800 alone"],
        label=HOSTILE[6],
        files={"train": HOSTILE[15], "trusted": HOSTILE[49] + "\udfff"},
        columns=dict.fromkeys(HOSTILE, "text"),
        certificate=facts["certificate"],
        created=HOSTILE[0],
        safegain=HOSTILE[5],
        versions={HOSTILE[1]: HOSTILE[2]},
        estimator={"name": HOSTILE[3], "parameters": {word: word for word in HOSTILE}},
        history=[{"candidate": word, "rank_loss": 0.5, "mistakes": 0.1} for word in HOSTILE],
        models=facts["models"] + [{"name": word, "n": 9, "loss": 1, "mistakes": 0.1, "role": None} for word in HOSTILE],
    )


def test_hostile_text_changes_no_element(tmp_path):
    html = write_report(hostile_run(tmp_path / f"{HOSTILE[36]}\x1b")).read_text(encoding="utf-8")
    assert cleaned(html) == html
    found = Page(html)
    page_tags = "html head meta title style body header p main section span h1 h2 h3 ol ul li code bdi figure"
    table_tags = "figcaption div table thead tbody tr th td small dl dt dd details summary footer"
    allowed = set(f"{page_tags} {table_tags} svg desc defs g path use clippath rect text img".split())
    assert {tag for tag, _ in found.elements} <= allowed
    names = {name for _, attributes in found.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("href", "srcset", "srcdoc", "action")]
    assert all(len(attributes.get("class") or "") < 30 for _, attributes in found.elements)
    for word in HOSTILE:
        assert cut(word, 200) in found.text


@needs_browser
@pytest.mark.parametrize("with_policy", [True, False], ids=["as it is", "without its policy"])
def test_hostile_text_does_nothing_in_a_browser(tmp_path, with_policy):
    """The words are shown and nothing happens; and not only because the page's own policy forbids it."""
    path = write_report(hostile_run(tmp_path / "run"))
    html = path.read_text(encoding="utf-8")
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert unescape(policy[1]).startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    if not with_policy:
        path.write_text(html.replace(policy[0], ""), encoding="utf-8")
    with chromium() as context:
        tab = watched(context)
        tab.page.goto(path.as_uri())
        tab.page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        tab.page.wait_for_timeout(300)
        assert tab.page.evaluate("window.hit") is None
        assert tab.page.url == path.as_uri()
        assert [address for address in tab.requests if not address.startswith("data:image/png")] == [path.as_uri()]
        assert tab.messages == []
        assert tab.dialogs == []
        shown = " ".join(tab.page.evaluate("document.body.textContent").split())
        for word in HOSTILE:
            assert cut(word, 200) in shown
