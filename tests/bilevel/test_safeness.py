"""Definitions of safeness, bound to trusted rows."""

import numpy as np
import pytest
import torch

from safegain.bilevel.measures import MEASURES
from safegain.bilevel.safeness import (
    AllOf,
    Bootstrap,
    MultiMeasure,
    PerClass,
    PerGroup,
    PerView,
    TrustedRows,
)


def trusted_rows(n=9, classes=True, groups=None):
    y = torch.arange(n) % 3 if classes else torch.linspace(-1, 1, n, dtype=torch.float64)
    names = np.array(["a", "b", "c"]) if classes else None
    group_names = None if groups is None else np.unique(groups)
    return TrustedRows("X", y, names, groups, group_names, lambda *sets: sets, np.random.RandomState(0))


def test_definitions_bind_to_rows_that_sum_to_one():
    groups = np.array([1, 1, 2, 2, 2, 2, 2, 2, 2])
    measures = MultiMeasure("balanced_log_loss", "brier")
    definition = Bootstrap(2) + PerClass() + PerGroup() + PerView({"v": [0, 1], "u": [2]}) + measures
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
