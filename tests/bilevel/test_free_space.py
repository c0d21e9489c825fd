"""The paper's search space."""

import pytest
import torch

from safegain.bilevel.free_space import FreeSpace
from safegain.bilevel.search_space import Point


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
