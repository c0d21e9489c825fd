"""A descent that can be walked back: the points it can be started from again, and the order of its rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from safegain.bilevel.lower import Batch, LowerLevel
from safegain.bilevel.update_rules import State, UpdateRule


@dataclass(frozen=True)
class Batches:
    """The order in which rows are visited: epoch e is a permutation drawn from (seed, e), cut into batches.

    Step t's rows follow from t alone, so that the reverse pass walks back over exactly the rows that the
    forward pass used, and only the seed needs to be kept. A last, smaller batch ends each epoch. The permutation is
    of the rows of all ranks, so that batches do not depend on who holds which row.
    """

    n_rows: int
    size: int | None
    seed: int
    mine: range  # the rows that this rank holds

    def at(self, t: int) -> Batch:
        # Plus the number of a row, it is the seed of the block of rows that begins there.
        seed = ((self.seed * 1_000_003 + t) * 1_000_003 + self.mine.start) % 2**62
        if self.size is None or self.size >= self.n_rows:
            return Batch(None, self.n_rows, seed)
        per_epoch = -(-self.n_rows // self.size)
        epoch, batch = divmod(t, per_epoch)
        rows = _order(self.n_rows, self.seed, epoch)[batch * self.size : (batch + 1) * self.size]
        if len(self.mine) == self.n_rows:
            return Batch(rows, len(rows), seed)
        held = (rows >= self.mine.start) & (rows < self.mine.stop)
        return Batch(rows[held] - self.mine.start, len(rows), seed)


@lru_cache(maxsize=2)  # the epoch at hand, and its neighbour
def _order(n_rows: int, seed: int, epoch: int) -> Tensor:
    # Seeds of one run and of the next must not meet: a plain seed + epoch would repeat their epochs.
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**63)
    return torch.randperm(n_rows, generator=generator)


@dataclass(frozen=True)
class Step:
    """Where step t of a descent began, and the gradient that it used if the reverse pass asks for it."""

    t: int
    theta: Tensor
    state: State
    g: Tensor | None


@dataclass(frozen=True)
class Trajectory:
    """The last steps of a descent, as points to start again from; each segment is walked once more when asked.

    Memory is (number of segments + longest segment) iterates: O(sqrt T), or all T where those fit the budget.
    """

    rule: UpdateRule
    batches: Batches
    segments: tuple[tuple[Step, int], ...]  # (first step of the segment, step after its last)
    whole: tuple[Step, ...] | None  # every step, where they fit

    def steps_backwards(self, lower: LowerLevel, w: Tensor, Q: Tensor) -> Iterator[Step]:
        """Yield the recorded steps, last first."""
        if self.whole is not None:
            yield from reversed(self.whole)
            return
        for first, end in reversed(self.segments):
            steps: list[Step] = []
            walk(self.rule, self.batches, lower, w, Q, first, end, keep=steps)
            yield from reversed(steps)


def walk(
    rule: UpdateRule,
    batches: Batches,
    lower: LowerLevel,
    w: Tensor,
    Q: Tensor,
    point: Step,
    end: int,
    *,
    keep: list[Step] | None = None,
) -> Step:
    """Steps point.t .. end - 1 of the descent; `keep` collects each step as the reverse pass wants it."""
    theta, state = point.theta, point.state
    if keep is not None:  # one piece of memory for all: vectors kept between those let go would double it in holes
        room = theta.new_empty(end - point.t, rule.n_kept, len(theta))
    for t in range(point.t, end):
        g = lower.gradient(theta, w, Q, batches.at(t))
        if keep is not None:
            kept = room[t - point.t]
            torch.stack((theta,) if rule.linear else (theta, g, *state), out=kept)
            keep.append(Step(t, kept[0], (), None) if rule.linear else Step(t, kept[0], tuple(kept[2:]), kept[1]))
        theta, state = rule.step(theta, state, g, t + 1)
    return Step(end, theta, state, None)
