"""What the projections with a shared dual cost, in units of the plain pass over their data."""

from functools import partial

import torch

from benchmarks.measure import compare
from safegain.bilevel.projections import budgeted_simplex_rows, capped_box


def _clamp_and_sum(z: torch.Tensor) -> torch.Tensor:
    return z.clamp(0, 1).sum()


def run(*, repeats: int = 7, rows: int = 1_000_000, weights: int = 10_000_000) -> list[dict]:
    results = []
    for dtype in (torch.float32, torch.float64):
        generator = torch.Generator().manual_seed(0)
        z = torch.randn(rows, 10, dtype=dtype, generator=generator)
        given = torch.randint(10, (rows,), generator=generator)
        name = f"budgeted_simplex_rows / torch.sort, {rows:,} x 10 {dtype}"
        work = partial(budgeted_simplex_rows, z, given, budget=0.3)
        results.append(compare(name, work, partial(torch.sort, z, dim=1), bar=12.0, repeats=repeats, units=3))

        z = torch.randn(weights, dtype=dtype, generator=generator)
        name = f"capped_box / clamp and sum, {weights:,} {dtype}"
        work = partial(capped_box, z, least_sum=0.7 * weights)
        results.append(compare(name, work, partial(_clamp_and_sum, z), bar=30.0, repeats=repeats, units=3))
    return results
