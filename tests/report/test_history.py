"""How the search went."""

import pytest
from msgspec.structs import replace

from safegain.report import report_html, write_report
from safegain.report.history import walk
from safegain.runs import RunError, open_run
from safegain.runs.facts import Facts, Record, Verdict
from tests.report.html import change
from tests.run_folders import make_run


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


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"step": "$\\frac"}, r"`int \| null`, got `str` - at `\$.history\[1\].step`"),
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
