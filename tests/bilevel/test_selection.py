"""Which iterate is kept, what is said about it, and the pieces that feed the choice."""

import numpy as np
import pytest
import torch

from safegain.bilevel.free_space import FreeSpace
from safegain.bilevel.measures import MEASURES, calibrated_log_loss
from safegain.bilevel.models import Linear
from safegain.bilevel.safeness import (
    AllOf,
    Bootstrap,
    MultiMeasure,
    PerClass,
    PerGroup,
    PerView,
    Requirement,
    TrustedRows,
)
from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import Candidate, Selection, Standing, report
from safegain.bilevel.upper import UpperLevel
from safegain.data.splits import ENOUGH, hold_out, rank_rows


def candidate(step, losses):
    return Candidate(step, torch.zeros(1), Point(torch.ones(1), torch.ones(1)), torch.tensor(losses))


def choose(ranks, losses, raw=(1.0, 1.0), trusted=None, mistakes=None):
    """A selection that has seen candidates with these losses on two sets and these ranks; ranks[0] is the raw one's."""
    zeros = [0.0] * len(ranks)
    standings = [Standing(*found) for found in zip(ranks, mistakes or zeros, trusted or zeros, strict=True)]
    found = dict(zip([None, *range(len(losses))], standings, strict=True))
    selection = Selection(candidate(None, list(raw)), lambda c: found[c.step])
    for step, pair in enumerate(losses):
        selection.consider(candidate(step, list(pair)))
    return selection


def test_the_best_safe_iterate_wins():
    selection = choose([5, 3, 1, 2], [(0.5, 0.5), (0.1, 1.1), (1.0, 0.9)])
    assert selection.best.step == 2  # rank 1 is unsafe on the second set; equal losses are safe
    told = report(selection, ["a", "b"], torch.tensor([1.0, 4.0]), n_rank=30, ended="ran all 3 outer steps")
    assert not told.fell_back
    assert (told.sets[1].raw_loss, told.sets[1].new_loss) == (4.0, pytest.approx(3.6))
    assert "smallest margin 0, a" in told.status
    assert "30 trusted rows that the search did not use" in told.status


def test_the_raw_model_stays_if_nothing_is_safe_or_better():
    unsafe = choose([5, 1], [(0.5, 1.5)])
    assert unsafe.best is unsafe.raw
    assert "no iterate was safe" in report(unsafe, ["a", "b"], torch.ones(2), n_rank=0, ended="x").status
    no_better = choose([5, 5], [(0.5, 0.5)])
    assert no_better.best is no_better.raw
    assert (
        "none of the 1 safe iterates ranked better"
        in report(no_better, ["a", "b"], torch.ones(2), n_rank=0, ended="x").status
    )
    loses_on_the_whole = choose([5, 1], [(0.5, 0.5)], trusted=[1.0, 1.1])
    assert loses_on_the_whole.best is loses_on_the_whole.raw
    more_mistakes = choose([5, 1], [(0.5, 0.5)], mistakes=[0.1, 0.2])
    assert more_mistakes.best is more_mistakes.raw
    not_a_number = choose([5, float("nan")], [(float("nan"), 0.5)])
    assert not_a_number.best is not_a_number.raw


def trusted_rows(n=9, classes=True, groups=None):
    y = torch.arange(n) % 3 if classes else torch.linspace(-1, 1, n, dtype=torch.float64)
    names = np.array(["a", "b", "c"]) if classes else None
    group_names = None if groups is None else np.unique(groups)
    return TrustedRows("X", y, names, groups, group_names, lambda *sets: sets, np.random.RandomState(0))


def test_definitions_bind_to_rows_that_sum_to_one():
    groups = np.array([1, 1, 2, 2, 2, 2, 2, 2, 2])
    definition = (
        Bootstrap(2) + PerClass() + PerGroup() + PerView({"v": [0, 1], "u": [2]}) + MultiMeasure("balanced_log_loss", "brier")
    )
    assert isinstance(definition, AllOf)
    assert len(definition.parts) == 5
    bound = definition.bind(trusted_rows(groups=groups))
    for requirement in bound:
        assert float(requirement.row_weight.sum()) == pytest.approx(1)
    by_name = {r.name: r for r in bound}
    assert by_name["class b"].row_weight.nonzero()[:, 0].tolist() == [1, 4, 7]
    assert by_name["group 1"].row_weight.nonzero()[:, 0].tolist() == [0, 1]
    assert by_name["view v"].X == ([0, 1], [2])
    assert by_name["measure brier"].measure is MEASURES["brier"]
    counts = by_name["bootstrap 1"].row_weight * 9
    assert torch.equal(counts, counts.round())
    assert not torch.equal(counts, 9 * by_name["bootstrap 2"].row_weight)


def test_balanced_counts_every_class_the_same():
    y = torch.tensor([0, 0, 0, 0, 1])
    trusted = TrustedRows("X", y, np.array(["a", "b"]), None, None, lambda *c: c, np.random.RandomState(0))
    (requirement,) = MultiMeasure("balanced_log_loss").bind(trusted)
    assert requirement.row_weight.tolist() == [0.125] * 4 + [0.5]


def test_definitions_refuse_what_cannot_be():
    with pytest.raises(ValueError, match="m must be at least 1"):
        Bootstrap(0)
    with pytest.raises(ValueError, match="takes some of"):
        MultiMeasure("accuracy")
    with pytest.raises(ValueError, match="takes some of"):
        MultiMeasure()
    with pytest.raises(ValueError, match="name at least one"):
        PerView({})
    with pytest.raises(ValueError, match="classes is empty"):
        PerClass([]).bind(trusted_rows())
    with pytest.raises(TypeError):
        Bootstrap() + "PerClass"
    twice = [r.name for r in (Bootstrap(1) + Bootstrap(2)).bind(trusted_rows())]
    assert twice == ["bootstrap 1", "bootstrap 1 (2)", "bootstrap 2"]
    assert len(PerClass(np.array(["a", "c"])).bind(trusted_rows())) == 2
    for columns in ([], "ab"):
        with pytest.raises(ValueError, match="give a list of column numbers or names"):
            PerView({"v": columns})
    with pytest.raises(ValueError, match="a regressor has no classes"):
        PerClass().bind(trusted_rows(classes=False))


def test_measures_against_scikit_learn():
    from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error

    random = torch.Generator().manual_seed(0)
    z = torch.randn(40, 3, dtype=torch.float64, generator=random)
    y = torch.randint(3, (40,), generator=random)
    p = torch.softmax(z, dim=1)
    assert float(MEASURES["log_loss"].value(z, y).mean()) == pytest.approx(log_loss(y, p))
    assert float(MEASURES["brier"].value(z, y).mean()) == pytest.approx(
        float((p - torch.eye(3, dtype=torch.float64)[y]).square().sum(dim=1).mean())
    )
    assert float(MEASURES["expected_error"].value(z, y).mean()) == pytest.approx(1 - float(p[range(40), y].mean()))
    t = torch.randn(40, dtype=torch.float64, generator=random)
    assert float(MEASURES["squared_error"].value(z, t).mean()) == pytest.approx(mean_squared_error(t, z[:, 0]))
    assert float(MEASURES["absolute_error"].value(z, t).mean()) == pytest.approx(mean_absolute_error(t, z[:, 0]))


def test_calibrated_log_loss_is_the_minimum_over_temperatures():
    from scipy.optimize import minimize_scalar

    random = torch.Generator().manual_seed(0)
    y = torch.randint(4, (80,), generator=random)
    z = torch.randn(80, 4, dtype=torch.float64, generator=random) + torch.eye(4, dtype=torch.float64)[y]
    best = minimize_scalar(lambda t: float(MEASURES["log_loss"].value(np.exp(t) * z, y).mean()), bounds=(-5, 5)).fun
    for size in (1e-2, 1.0, 50.0):  # it does not depend on how sure the logits are
        assert calibrated_log_loss(size * z, y) == pytest.approx(best, abs=1e-9)
    assert calibrated_log_loss(100 * torch.eye(4)[y], y) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("hinge", "expected"), [(False, 2.0 + 3 * -0.5), (True, 2.0)])
def test_the_penalty_as_printed_and_as_a_hinge(hinge, expected):
    requirement = Requirement("a", None, torch.ones(1), MEASURES["squared_error"])
    upper = UpperLevel(Linear(2, 1), torch.zeros(1), (requirement,) * 2, penalty_weight=3.0, hinge=hinge)
    safe = upper.objective(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 3.5]))
    assert float(safe) == pytest.approx(expected)
    worse = upper.objective(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]))
    assert float(worse) == pytest.approx(2.0 + 3 * 1.0)


def test_free_space_keeps_fixed_rows_and_tells_violations():
    origin = Point(torch.ones(4, dtype=torch.float64), torch.eye(4, 3, dtype=torch.float64))
    origin.Q[3, 0] = 1
    free = torch.tensor([False, True, False, True])
    space = FreeSpace(origin, eps1=3.0, eps2=1.0, free=free)
    w, Q = space.project((torch.tensor([-1.0, 2.0], dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)))
    point = space.point((w, Q))
    assert point.w.tolist() == [1.0, 0.0, 1.0, 1.0]  # eps1 counts the fixed rows' weight too
    assert torch.equal(point.Q[~free], origin.Q[~free])
    assert space.violation(point) <= 1e-12
    gw, gQ = space.pull((w, Q), torch.arange(4.0), torch.arange(12.0).view(4, 3))
    assert gw.tolist() == [1, 3]
    assert gQ.shape == (2, 3)
    broken = Point(torch.tensor([1.2, 0, 0, 0], dtype=torch.float64), origin.Q)
    assert space.violation(broken) == pytest.approx((3 - 1.2) / 4)
    budget = FreeSpace(origin, eps1=0.0, eps2=0.1, given=torch.tensor([1, 1, 2, 0]))
    assert budget.violation(origin) == pytest.approx(0.25 - 0.1)
    ball = FreeSpace(Point(torch.ones(2), torch.zeros(2)), eps1=0.0, eps2=1.0)
    assert ball.violation(Point(torch.ones(2), torch.tensor([3.0, 4.0]))) == pytest.approx(4.0)


def test_held_out_rows_are_stratified_and_leave_every_class_one():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], [50, 10, 1])
    held = hold_out([classes], 61, 0.2, random)
    assert np.bincount(classes[held], minlength=3).tolist() == [10, 2, 0]
    groups = np.where(np.arange(61) < 2, "rare", "common")
    for seed in range(20):
        left = np.delete(np.arange(61), hold_out([classes, groups], 61, 0.6, np.random.RandomState(seed)))
        assert set(zip(classes[left], groups[left], strict=True)) == set(zip(classes, groups, strict=True))
    assert len(rank_rows([classes], 61, 0.3, random)) == 0  # 18 rows would not be enough
    assert len(rank_rows([], 100, 0.3, random)) == 30 >= ENOUGH
    assert len(rank_rows([], 100, 0.0, random)) == 0
