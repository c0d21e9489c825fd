"""What the projections with a shared dual cost, in units of the plain pass over their data."""

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from rich.console import Console
from rich.table import Table

from safegain.projections import budgeted_simplex_rows, capped_box


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _compare(name: str, work: Callable[[], object], unit: Callable[[], object], *, bar: float, repeats: int) -> dict:
    """Median of work / unit, the two timed in turn, so that a busy machine slows both."""
    work(), unit()  # the first calls pay for memory
    ratios = [_seconds(work) / statistics.median(_seconds(unit) for _ in range(3)) for _ in range(repeats)]
    ratio = statistics.median(ratios)
    spread = {"low": min(ratios), "high": max(ratios)}
    return {"name": name, "ratio": ratio, **spread, "bar": bar, "met": ratio <= bar}


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
        results.append(_compare(name, work, partial(torch.sort, z, dim=1), bar=12.0, repeats=repeats))

        z = torch.randn(weights, dtype=dtype, generator=generator)
        name = f"capped_box / clamp and sum, {weights:,} {dtype}"
        work = partial(capped_box, z, least_sum=0.7 * weights)
        results.append(_compare(name, work, partial(_clamp_and_sum, z), bar=30.0, repeats=repeats))
    return results


def main() -> None:
    table = Table("projection / unit", "ratio", "low .. high", "bar", "met")
    for row in run():
        spread = f"{row['low']:.1f} .. {row['high']:.1f}"
        met = "yes" if row["met"] else "NO"
        table.add_row(row["name"], f"{row['ratio']:.1f}", spread, f"{row['bar']:.0f}", met)
    Console().print(table)


if __name__ == "__main__":
    main()
