"""The outer step is Adam's, block by block and in place."""

import pytest
import torch

from safegain.bilevel import outer_step as module
from safegain.bilevel.outer_step import AdamStep, ScaledStep
from safegain.data.ranks import ALONE
from tests.thread_ranks import in_threads


@pytest.mark.parametrize("shape", [(23,), (23, 3)])
def test_it_is_adams_step_with_the_gradient_per_row(shape, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 5)
    random = torch.Generator().manual_seed(0)
    step, n = AdamStep(0.05), 23
    moments = tuple(torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    kept = [m.data_ptr() for m in moments]
    ours = theirs = torch.rand(shape, dtype=torch.float64, generator=random)
    state = step.rule.init(theirs)
    for t in range(1, 8):
        g = torch.randn(shape, dtype=torch.float64, generator=random) / n
        theirs, state = step.rule.step(theirs, state, n * g, t)
        before = ours.clone()
        moved = step.move(ours, moments, g, scale=n, t=t, ranks=ALONE)
        assert moved.data_ptr() == g.data_ptr()  # the gradient's memory becomes the new parameter's
        assert torch.equal(ours, before)  # the old one may belong to a candidate
        ours = moved
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    assert [m.data_ptr() for m in moments] == kept


def test_a_tiny_hypergradient_still_counts():
    """Rows that hardly matter have a derivative of 1e-7 and move as far as others: epsilon must not drown it."""
    g = torch.tensor([1e-7, -1e-7], dtype=torch.float64)
    moments = tuple(torch.zeros(2, dtype=torch.float64) for _ in range(2))
    moved = AdamStep(0.1).move(torch.zeros(2, dtype=torch.float64), moments, g, scale=1, t=1, ranks=ALONE)
    torch.testing.assert_close(moved, torch.tensor([-0.1, 0.1], dtype=torch.float64), rtol=0.01, atol=0)


@pytest.mark.parametrize("shape", [(23,), (23, 3)])
def test_a_scaled_step_follows_the_gradient_whatever_its_size(shape, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ROWS", 5)
    random = torch.Generator().manual_seed(0)
    start = torch.rand(shape, dtype=torch.float64, generator=random)
    g = torch.randn(shape, dtype=torch.float64, generator=random)
    along = g if g.ndim == 1 else g - g.mean(dim=1, keepdim=True)  # the simplex
    expected = start - 0.3 * g / (along.square().sum() / 23).sqrt()
    before = start.clone()
    for size in (1e-12, 1.0, 1e9):
        slope = size * g
        moved = ScaledStep(0.3).move(start, (), slope, scale=23, t=1, ranks=ALONE)
        assert moved.data_ptr() == slope.data_ptr()
        torch.testing.assert_close(moved, expected, rtol=1e-12, atol=1e-12)
    assert torch.equal(start, before)
    nowhere = ScaledStep(0.3).move(start, (), torch.zeros_like(start), scale=23, t=1, ranks=ALONE)
    assert torch.equal(nowhere, start)


def test_a_scaled_step_is_the_same_for_rows_in_several_processes():
    random = torch.Generator().manual_seed(1)
    start, g = (torch.randn(7, 3, dtype=torch.float64, generator=random) for _ in range(2))
    whole = ScaledStep(0.3).move(start, (), g.clone(), scale=7, t=1, ranks=ALONE)
    rows = (slice(0, 2), slice(2, 2), slice(2, 7))

    def part(ranks):
        own = rows[ranks.rank]
        return ScaledStep(0.3).move(start[own], (), g[own].clone(), scale=7, t=1, ranks=ranks)

    torch.testing.assert_close(torch.cat(in_threads(3, part)), whole, rtol=1e-13, atol=1e-13)
