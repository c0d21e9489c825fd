"""What a search hands back: units, and the way back to the reference."""

from dataclasses import replace

import numpy as np
import torch

from safegain.bilevel.search_space import Point
from safegain.data.parts import Part, Parts
from safegain.search.contest import SafenessReport, SetMargin
from safegain.search.outcome import Choice, Comparison, Outcome, Standing, Suggestions

ROWS = Part(np.ones((2, 1)), torch.tensor([0.0, 1.0]))


def test_numbers_come_in_the_users_units():
    parts = Parts(ROWS, ROWS, None, None, mean=10.0, unit=2.0)
    point = Point(torch.tensor([1.0, 0.5]), torch.tensor([0.0, -0.25], dtype=torch.float32))
    choice = Choice.of_point("model", point, parts, torch.tensor([1.0, -3.0]))
    assert choice.model == "model"
    assert choice.weight.tolist() == [1.0, 0.5]
    assert choice.moved.tolist() == [0.0, -0.5]
    assert choice.base.tolist() == [12.0, 4.0]
    assert choice.moved.dtype == choice.base.dtype == torch.float64


def test_classes_have_distributions_and_no_base():
    parts = Parts(ROWS, ROWS, None, np.array(["a", "b"]))
    point = Point(torch.ones(2), torch.tensor([[0.2, 0.8], [1.0, 0.0]]))
    choice = Choice.of_point("model", point, parts, None)
    assert choice.moved is point.Q
    assert choice.base is None


def test_an_outcome_falls_back_to_its_reference():
    new, old = (Choice(name, torch.ones(2), torch.ones(2, 2)) for name in ("new", "old"))
    report = SafenessReport(False, 1, (SetMargin.between("held-out rows", 2.0, 1.0),), "Safe: yes.")
    comparison = Comparison(torch.arange(2), {"raw": torch.ones(2)})
    outcome = Outcome(new, old, "raw", {"raw": "old"}, report, comparison, [{"step": 0}], 1)
    assert not outcome.fell_back
    fallen = outcome.fallen_back("it was not certified", "More words.")
    assert fallen.fell_back
    assert fallen.best is fallen.reference is old
    assert fallen.safeness.status == (
        "Fell back: it was not certified, so this is the reference, trained on raw rows. More words."
    )
    assert fallen.safeness.sets == (SetMargin("held-out rows", 2.0, 2.0, 0.0),)
    assert (fallen.history, fallen.n_iter, fallen.comparison) == ([{"step": 0}], 1, comparison)
    told = [("Network()", "corrected"), ("Linear()", "raw"), ("Forest()", "raw")]
    board = [Standing(learner, labels, 1.0, 3, 0.0, 0.1) for learner, labels in told]
    named = replace(outcome, leaderboard=board).fallen_back("it was not certified")
    assert named.safeness.status.endswith("so this is the reference, Linear() trained on raw rows.")


def test_nothing_was_asked_of_trusted_rows():
    trusted, each = np.array([False, True, False]), np.array([1.0, 2.0])
    whole = Suggestions(each, each + 10, each + 20, each + 30).of_all_rows(trusted)
    for first, found in zip((1, 11, 21, 31), vars(whole).values(), strict=True):
        np.testing.assert_array_equal(found, [first, np.nan, first + 1])
