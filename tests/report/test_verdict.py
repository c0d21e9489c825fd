"""What the report says first."""

import json
import re

import pytest

from safegain.certificates.power import required_trusted
from safegain.report.comparison import standings
from safegain.report.verdict import verdict
from safegain.runs import open_run
from tests.report.html import change, failed, fallen_back, page
from tests.run_folders import make_run


def test_a_certified_gain_is_the_first_thing_said(tmp_path):
    text = page(make_run(tmp_path / "my run")).text
    found = [
        "Improved",
        "The new model makes fewer mistakes than a model trained on your labels and the trusted rows together",
        "If the new model were really no better, a test like this would wrongly certify it in at most 5 of 100 cases",
        "rows like the 200 fresh ones",
        "the new model alone was right on 30, the reference alone on 10",
        "it gets at least 4 of 100 rows more right",
        "safegain predict 'my run' new.csv",
        "safegain review 'my run'",
        "The models side by side",
        "Where it gains, and where it does not",
        "The new model does worse on north and south",
        "How the search went",
        "How far each label is trusted",
        "Which labels are confused",
        "The 30 most suspicious rows",
        "Suggestions can be wrong",
        "Settings and exact numbers",
        "the label has 3 different words: classes",
    ]
    places = [text.index(words) for words in found]
    assert places == sorted(places)
    assert "not a proof" not in text
    assert "would settle it" not in text


def test_a_comparison_is_not_called_a_proof(tmp_path):
    folder = change(make_run(tmp_path / "run"), certificate=None, verdict={"outcome": "safe", "reference": "raw"})
    text = page(folder).text
    assert "On your trusted rows, the new model is no worse than a model trained on your labels" in text
    assert "This compares the models on your 30 trusted rows. It is not a proof" in text
    assert "certified" not in text
    disagree = open_run(folder).labels["disagrees"].mean()
    needed = required_trusted(0.2 - 0.125, max(disagree, 0.075), 0.05, 0.8)
    told = int(re.search(r"about ([\d,]+) fresh trusted rows would prove it", text)[1].replace(",", ""))
    assert needed <= told <= 1.1 * needed + 1


def test_a_fall_back_says_that_nothing_was_lost_and_what_it_would_take(tmp_path):
    folder = make_run(tmp_path / "run")
    change(folder, certificate=failed(folder), verdict={"outcome": "fell back", "reference": "trusted"})
    text = page(folder).text
    assert "nothing has changed: you have a model trained on the trusted rows alone" in text
    assert "A test on 200 fresh rows did not certify the new model" in text
    assert "in up to 21 of 100 cases" in text
    needed = required_trusted(0.03, 38 / 200, 0.05, 0.8)
    told = int(re.search(r"about ([\d,]+) fresh trusted rows would prove it", text)[1].replace(",", ""))
    assert needed <= told <= 1.1 * needed + 1


@pytest.mark.parametrize(
    ("reference", "words"),
    [("raw", "which takes them as they are"), ("trusted", "alone: doubtful labels were not used at all")],
)
def test_labels_that_were_not_judged_are_not_called_good(tmp_path, reference, words):
    text = page(fallen_back(make_run(tmp_path / "run"), reference)).text
    assert text.count("Labels were not judged, as no new model was handed back") == 1
    assert words in text
    wrong = ("Every label counts", "No label is", "How far each label", "labels are confused", "Where it gains")
    assert not [each for each in wrong if each in text]
    assert "The models side by side" in text
    assert "These were the candidates" in text
    assert "that it had not learned from. Higher is better." in text


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
    assert "This compares" not in text


def test_a_smaller_loss_with_more_mistakes_is_told_as_both(tmp_path):
    def told(loss: float, mistakes: float) -> str:
        new = {"name": "new", "n": 400, "loss": loss, "mistakes": mistakes, "role": "new"}
        old = {"name": "raw", "n": 400, "loss": 0.5, "mistakes": 0.1, "role": "reference"}
        change(folder, models=[old, new], verdict={"outcome": "safe", "reference": "raw"}, certificate=None)
        return page(folder).text

    folder = make_run(tmp_path / "run")
    both = "allowing for chance: it is more confident (a smaller loss) but makes 44 mistakes against 40."
    assert both in told(0.4, 0.11)
    assert "more confident" not in told(0.4, 0.1)
    assert "more confident" not in told(0.6, 0.11)


def test_later_certificates_are_told(tmp_path):
    folder = make_run(tmp_path / "run")
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    change(folder, certificate=None, verdict={"outcome": "safe", "reference": "raw"})
    (folder / "certificate-1.json").write_text(json.dumps(failed(make_run(tmp_path / "other"))))
    (folder / "certificate-2.json").write_text(json.dumps({**certificate, "created": "2026-02-03T00:00:00+00:00"}))
    text = page(folder).text
    assert "Certificate 1: not certified" in text
    assert "Certificate 2: certified, 3 February 2026" in text
    assert "A later test on fresh rows certified it. If the new model were really no better" in text


def test_a_tolerance_a_pool_and_remarks_are_said(tmp_path):
    folder = make_run(tmp_path / "run")
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    certificate["entries"][0] |= {"tolerance": 0.02, "test": "sign test with tolerance"}
    certificate |= {"pool": {"rows": 3000, "differing": 410, "labelled": 122}, "remarks": ["Copies count once."]}
    change(folder, certificate=certificate, verdict={"outcome": "safe", "reference": "raw"})
    text = page(folder).text
    assert "were really worse by 2 of 100 rows or more" in text
    assert "The two models differ on 410 of them, and 122 of these were labelled" in text
    assert "until it was clear. Copies count once." in text


def test_a_certificate_by_another_measure_does_not_speak_of_mistakes(tmp_path):
    folder = make_run(tmp_path / "run")
    certificate = json.loads((folder / "run.json").read_text())["certificate"]
    certificate["entries"].append({**certificate["entries"][0], "measure": "brier", "p_value": 0.002})
    text = page(change(folder, certificate=certificate)).text
    assert "The new model does better on every measure you asked for than" in text
    assert "It passed all 2 tests" in text
    assert "its gain is at least 0.04 in brier" in text


def test_a_verdict_in_parts(tmp_path):
    facts = open_run(make_run(tmp_path / "run")).facts
    found = verdict(facts, standings(facts), [], "run")
    assert (found.outcome, found.badge) == ("improved", "Improved")
    assert len(found.grounds) == 2
    assert [step.command for step in found.advice] == ["safegain predict run new.csv", "safegain review run"]
