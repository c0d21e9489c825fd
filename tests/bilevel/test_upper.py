"""The upper level."""

import pytest
import torch

from safegain.bilevel.measures import MEASURES
from safegain.bilevel.models import Linear
from safegain.bilevel.safeness import (
    Requirement,
)
from safegain.bilevel.upper import UpperLevel


@pytest.mark.parametrize(("hinge", "expected"), [(False, 2.0 + 3 * -0.5), (True, 2.0)])
def test_the_penalty_as_printed_and_as_a_hinge(hinge, expected):
    requirement = Requirement("a", None, torch.ones(1), MEASURES["squared_error"])
    upper = UpperLevel(Linear(2, 1), torch.zeros(1), (requirement,) * 2, penalty_weight=3.0, hinge=hinge)
    safe = upper.objective(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 3.5]))
    assert float(safe) == pytest.approx(expected)
    worse = upper.objective(torch.tensor([1.0, 3.0]), torch.tensor([2.0, 2.0]))
    assert float(worse) == pytest.approx(2.0 + 3 * 1.0)
