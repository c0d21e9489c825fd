"""The whole report: sound HTML for everyone, from any run."""

import errno
import json
import os
import re
import subprocess
import sys
from collections import Counter
from html import unescape
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

import safegain
from safegain.report import report_html, write_report
from safegain.report.words import cleaned, cut
from safegain.runs import RunError, open_run
from tests.browser import chromium, needs_browser, watched
from tests.report.hostile import HOSTILE, hostile_run
from tests.report.html import Page, change, failed, page
from tests.run_folders import make_run


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
        text = Page(report_html(open_run(change(folder, **{name: value, "certificate": None})))).text
        assert "most suspicious rows" in text, name
        assert not re.search(r"\b(None|null|nan|undefined)\b", text), name
        (folder / "run.json").write_text(json.dumps(facts))
    text = page(change(folder, **unknown)).text
    assert "The models side by side" not in text
    assert "most suspicious rows" in text


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
    assert len(ids) > 5
    assert not [each for each, n in Counter(ids).items() if n > 1]
    pictures = found.having("img", "svg")
    assert found.having("svg")
    for picture in pictures:
        named = picture.get("alt") or picture["aria-labelledby"]
        assert named.strip()
        assert set(picture.get("aria-labelledby", "").split()) <= set(ids)
    assert found.having("use")
    for attributes in found.having("use"):
        assert attributes["xlink:href"].removeprefix("#") in ids
    levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert found.having("th")
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
