"""The outer step is Adam's, block by block and in place."""

import pytest
import torch

from safegain.bilevel import outer_step as module
from safegain.bilevel.outer_step import outer_rule, outer_step


@pytest.mark.parametrize("shape", [(23,), (23, 3)])
def test_it_is_adams_step_with_the_gradient_per_row(shape, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 5)
    random = torch.Generator().manual_seed(0)
    rule, n = outer_rule(0.05), 23
    moments = tuple(torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    kept = [m.data_ptr() for m in moments]
    ours = theirs = torch.rand(shape, dtype=torch.float64, generator=random)
    state = rule.init(theirs)
    for t in range(1, 8):
        g = torch.randn(shape, dtype=torch.float64, generator=random) / n
        theirs, state = rule.step(theirs, state, n * g, t)
        before = ours.clone()
        moved = outer_step(rule, ours, moments, g, scale=n, t=t)
        assert moved.data_ptr() == g.data_ptr()  # the gradient's memory becomes the new parameter's
        assert torch.equal(ours, before)  # the old one may belong to a candidate
        ours = moved
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    assert [m.data_ptr() for m in moments] == kept


def test_a_tiny_hypergradient_still_counts():
    """Rows that hardly matter have a derivative of 1e-7 and move as far as others: epsilon must not drown it."""
    g = torch.tensor([1e-7, -1e-7], dtype=torch.float64)
    moments = tuple(torch.zeros(2, dtype=torch.float64) for _ in range(2))
    moved = outer_step(outer_rule(0.1), torch.zeros(2, dtype=torch.float64), moments, g, scale=1, t=1)
    torch.testing.assert_close(moved, torch.tensor([-0.1, 0.1], dtype=torch.float64), rtol=0.01, atol=0)
