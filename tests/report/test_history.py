"""How the search went."""

import pytest

from safegain.report import report_html, write_report
from safegain.report.history import walk
from safegain.runs import RunError, open_run
from tests.report.html import change
from tests.run_folders import make_run


def walked(folder, history, verdict=None):
    return walk(open_run(change(folder, history=history, verdict=verdict)).facts)


def test_the_step_that_is_ringed_is_the_safe_one_with_the_least_loss(tmp_path):
    folder = make_run(tmp_path / "run")
    losses = [(1.0, True), (0.4, False), (0.6, True), (0.6, True), (0.7, True)]
    history = [{"step": i, "rank_loss": loss, "safe": safe} for i, (loss, safe) in enumerate(losses)]
    assert walked(folder, history, {"outcome": "fell back"}).kept is None
    assert walked(folder, history).kept.step == 2
    twice = [{"fold": 0, **record} for record in history] + [{"fold": 1, **record} for record in history]
    assert [len(run) for run in walked(folder, twice).runs] == [5, 5]


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
        ({"rank_loss": 10**400}, r"out of range - at `\$.history\[1\].rank_loss`"),
        ({"mistakes": 10**400, "candidate": "new"}, r"out of range - at `\$.history\[1\].mistakes`"),
        ({"rank_loss": -1e308}, "does not go with the run's other files"),
    ],
)
def test_a_history_that_no_search_leaves_is_damage(tmp_path, record, words):
    first, last = {"step": 0, "rank_loss": 1e308}, {"step": 1, "rank_loss": 0.5}
    folder = change(make_run(tmp_path / "run"), history=[first, last | record])
    with pytest.raises(RunError, match=rf"run\.json: is damaged .*{words}.*; fit again$"):
        write_report(folder)


def test_steps_without_a_number_are_counted(tmp_path):
    history = [{"step": None, "rank_loss": 1.0}, {"rank_loss": 0.5}]
    assert [step.step for step in walked(make_run(tmp_path / "run"), history).runs[0]] == [0, 1]
