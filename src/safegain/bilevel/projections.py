"""Euclidean projections on the sets that sample weights, label distributions and shifts live in.

They are the "Projection step" of both algorithms, onto the parts of Lambda below Eq. (7): `capped_box` for w,
`budgeted_simplex_rows` for Q over classes (`simplex_rows` for rows without a label), `ball` for Q as shifts.

Two of the sets tie all entries together by one sum. Projecting on them moves every entry by the same dual
mu >= 0, the root of one equation (Held, Wolfe and Crowder 1974, "Validation of subgradient optimization"):

    sum_i g_i(s_i + mu) = target,    g_i nondecreasing, piecewise linear, constant outside [-1, 1].

The root finder sees the terms only as "mu -> (sum, slope)", so whoever can add up sums can find mu. Sums and
duals are float64 whatever the input is, and exact to rounding for entries up to 1e15. Inputs are never
modified, and nothing here is differentiated through.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from safegain.data.ranks import ALONE, Ranks, float64

_EPS = sys.float_info.epsilon
# Entries handled at a time. Below 2^15 torch works on one thread, in the cache: where threads must meet after
# every operation instead, a busy machine makes each meeting last a time slice.
_BLOCK = 32_000
_SAMPLE = 32  # every 32nd block tells where to start

Block = TypeVar("Block")
Pair = tuple[float, float]


def _root(sums: Callable[[float], Pair], *, target: float, lo: float, hi: float, start: float) -> Pair:
    """Shrink lo <= root <= hi of sum(mu) = target to (root, root), or else to two neighbouring floats.

    Where sum(lo) >= target already, that is (lo, lo). Newton's step is exact from anywhere on the linear pieces
    that meet the root. It is taken while it stays inside the bracket and at least halves the step before;
    otherwise bisecting leads to such a piece.
    """
    mu, last_step, lo_is_below = start, math.inf, False
    while hi - lo > _EPS**2:
        value, slope = sums(mu)
        gap = target - value
        if abs(gap) <= 8 * _EPS * abs(target):  # the sum is not known better
            return mu, mu
        lo, hi, lo_is_below = (mu, hi, True) if gap > 0 else (lo, mu, lo_is_below)
        trial = mu + gap / slope if slope > 0 else math.inf
        if trial == mu:  # the root is nearer than the next float, which closes the bracket
            trial = math.nextafter(mu, math.copysign(math.inf, gap))
        if not lo < trial < hi or abs(trial - mu) > last_step / 2:
            if not lo_is_below:
                trial = lo
            elif hi > 4 * (1 + lo):  # several scales: the middle of the exponents
                trial = math.sqrt(1 + lo) * math.sqrt(hi)
            else:
                trial = lo + (hi - lo) / 2
        if lo_is_below and not lo < trial < hi:
            break
        mu, last_step = trial, abs(trial - mu)
    return lo, hi


def _dual(
    sums: Callable[[Sequence[Block], float, float], Pair],
    blocks: Sequence[Block],
    *,
    target: float,
    least: float,
    most: float,
    ranks: Ranks,
) -> Pair:
    """The mu = base + rest >= 0 with sum_i g_i((s_i + base) + rest) >= target, where least <= s_i <= most.

    The sum is over the blocks of all ranks: each adds up its own.

    In two parts because |s| may be huge: then mu as one float is too coarse, while s_i + base is exact where
    it matters (Sterbenz: -1 <= s_i + mu <= 1 makes them nearby floats) and the rest is small.
    """
    # From where the first term may start to grow to where the last one has stopped, both rounded outwards.
    lo, hi = max(0.0, (-1 - most) * (1 - 4 * _EPS)), max(0.0, (1 - least) * (1 + 4 * _EPS))
    start, sample = lo, blocks[::_SAMPLE]
    n_sample, n_blocks = ranks.count(len(sample)), ranks.count(len(blocks))
    if n_sample > ranks.size:
        share = n_sample / n_blocks
        start = min(hi, sum(_dual(sums, sample, target=share * target, least=least, most=most, ranks=ranks)))

    def everywhere(base: float, rest: float) -> Pair:
        value, slope = ranks.sum(float64(*sums(blocks, base, rest))).tolist()
        return value, slope

    base, end = _root(lambda mu: everywhere(mu, 0.0), target=target, lo=lo, hi=hi, start=start)
    _, rest = _root(lambda mu: everywhere(base, mu), target=target, lo=0.0, hi=end - base, start=0.0)
    return base, rest


def _range(values: Tensor, ranks: Ranks) -> Pair:
    """The smallest and the largest value on any rank, some of which may have none."""
    least, most = values.aminmax() if len(values) else (math.inf, -math.inf)
    negated, most = ranks.max(float64(-float(least), float(most))).tolist()
    return -negated, most


@torch.no_grad()
def capped_box(z: Tensor, *, least_sum: float, ranks: Ranks = ALONE, out: Tensor | None = None) -> Tensor:
    """argmin_w 1/2 ||w - z||^2  s.t.  0 <= w <= 1,  sum(w) >= least_sum,  for z (n,): Lambda's w, least_sum = eps1.

    w = clip(z + mu, 0, 1), mu >= 0 the dual of the sum.
    """
    n = ranks.count(len(z))
    if not 0 <= least_sum <= n:
        raise ValueError(f"least_sum is {least_sum}; {n} weights in [0, 1] need it in [0, {n}]")
    projected = torch.empty_like(z) if out is None else out
    if least_sum == n:
        return projected.fill_(1)

    def weights(part: Tensor, base: float, rest: float) -> Tensor:
        moved = part.to(torch.float64, copy=True).add_(base)
        return (moved.add_(rest) if rest else moved).clamp_(0, 1)

    def sums(parts: Sequence[Tensor], base: float, rest: float) -> Pair:
        total = slope = 0.0
        for part in parts:
            w = weights(part, base, rest)
            total += float(w.sum())
            slope += float(w.frac_().sign_().sum())  # how many are strictly between 0 and 1
        return total, slope

    parts = z.split(_BLOCK)
    least, most = _range(z, ranks)
    base, rest = _dual(sums, parts, target=least_sum, least=least, most=most, ranks=ranks)
    for part, out in zip(parts, projected.split(_BLOCK), strict=True):
        out.copy_(weights(part, base, rest))
    return projected


def _columns(rows: Tensor) -> Tensor:
    """(m, k) as (k, m) in float64: what runs over a row's few entries then runs over long vectors."""
    return rows.T.to(torch.float64, memory_format=torch.contiguous_format, copy=True)


def _from_top(rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The columns in descending order from their first entry, that entry (m,), and tau (m,) measured from it.

    tau, with sum_j max(u_j - tau, 0) = 1, is the largest of (u_1 + ... + u_j - 1) / j (Duchi, Shalev-Shwartz,
    Singer and Chandra 2008, "Efficient projections onto the l1-ball", figure 1). A constant per row is free, and
    what lies 1 below the first entry ends at 0 from any depth: in [-1, 0] no scale is left.
    """
    ordered = _columns(rows.sort(dim=1, descending=True).values)
    top = ordered[0].clone()
    u = ordered.sub_(top).clamp_(min=-1)
    j = torch.arange(1, len(u) + 1, dtype=u.dtype, device=u.device)
    return u, top, u.cumsum(dim=0).sub_(1).div_(j[:, None]).amax(dim=0)


@torch.no_grad()
def simplex_rows(z: Tensor, *, out: Tensor | None = None) -> Tensor:
    """argmin_Q 1/2 ||Q - z||^2  s.t.  Q >= 0,  every row of Q sums to 1,  for z (n, k).

    Q = max(z - tau, 0), tau the dual of a row's sum.
    """
    projected = torch.empty_like(z) if out is None else out
    height = max(1, _BLOCK // z.shape[1])
    for rows, into in zip(z.split(height), projected.split(height), strict=True):
        _, top, tau = _from_top(rows)
        into.copy_(_columns(rows).sub_(top).sub_(tau).clamp_(min=0).T)
    return projected


class _Rows(NamedTuple):
    """m rows of z with what `budgeted_simplex_rows` knows about them before mu."""

    z: Tensor  # (m, k)
    given: Tensor  # (m,)
    top: Tensor  # (m,) the largest of the other entries
    tau: Tensor  # (m,) of the others alone, from top
    leaves: Tensor  # (k - 1, m) the d_j
    s: Tensor  # (m,) the given entry from top, rounded
    s_low: Tensor  # (m,) what the rounding lost: one of the two entries may be huge


def _rows(z: Tensor, given: Tensor) -> _Rows:
    u, top, tau = _from_top(z.scatter(1, given[:, None], -math.inf))
    u, j = u[:-1], torch.arange(1, len(u), dtype=u.dtype, device=u.device)
    entry = z.gather(1, given[:, None]).squeeze(1).to(torch.float64)
    s = entry - top
    back = s - entry
    s_low = (entry - (s - back)) - (top + back)  # Knuth's two-sum
    return _Rows(z, given, top, tau, leaves=u * (j[:, None] + 1) - u.cumsum(dim=0), s=s, s_low=s_low)


@torch.no_grad()
def budgeted_simplex_rows(
    z: Tensor, given: Tensor, *, budget: float, ranks: Ranks = ALONE, out: Tensor | None = None
) -> Tensor:
    """argmin_Q 1/2 ||Q - z||^2  s.t.  rows of Q on the simplex,  mean_i(1 - Q[i, given[i]]) <= budget.

    Lambda's Q over classes, budget = eps2.

    z (n, k), given (n,) in 0 .. k-1. Q = simplex_rows(z + mu onehot(given)), mu >= 0 the dual of the budget.

    Measure a row from the largest of its other entries, u_1 = 0 >= u_2 >= ..., and let 1 + x be its given
    entry plus mu. With j others in the support Q[given] has slope j / (j + 1) in x, and as x grows the j-th
    one leaves at x = d_j = (j + 1) u_j - (u_1 + ... + u_j). Adding up the slopes from x = 0 downwards,

        1 - Q[given] = min(lost, 1),    lost = sum_j max(d_j - x, 0) / (j (j + 1)),
        Q = max(row - tau, 0),          tau = max(x + lost, tau of the others alone).
    """
    if not 0 <= budget <= 1:
        raise ValueError(f"budget is {budget}; a mean of probabilities needs it in [0, 1]")
    k = z.shape[1]
    projected = torch.empty_like(z) if out is None else out
    if budget == 0:
        return projected.zero_().scatter_(1, given[:, None], 1)
    height = max(1, _BLOCK // k)
    blocks = [_rows(*pair) for pair in zip(z.split(height), given.split(height), strict=True)]
    j = torch.arange(1, k, dtype=torch.float64, device=z.device)
    slope_changes = (1 / (j * (j + 1)))[:, None]

    def drops(rows: _Rows, base: float, rest: float) -> tuple[Tensor, Tensor]:
        # In this order nothing is rounded where it matters: s + base is near 1, and then the rest is small.
        x = ((rows.s + base - 1) + (rows.s_low + rest)).clamp_(-2, 0)
        return x, (rows.leaves - x).clamp_(min=0)

    def sums(blocks: Sequence[_Rows], base: float, rest: float) -> Pair:
        total = slope = 0.0
        for rows in blocks:
            _, drop = drops(rows, base, rest)
            lost = (slope_changes * drop).sum(dim=0)
            inside = drop.sign_().sum(dim=0)
            slope += float((inside / (inside + 1) * (lost < 1)).sum())
            total -= float(lost.clamp_(max=1).sum())
        return total, slope

    def project(rows: _Rows, base: float, rest: float) -> Tensor:
        x, drop = drops(rows, base, rest)
        tau = torch.maximum(x + (slope_changes * drop).sum(dim=0), rows.tau)
        moved = _columns(rows.z).sub_(rows.top).scatter_(0, rows.given[None], 1 + x[None])
        return moved.sub_(tau).clamp_(min=0).T

    least, most = _range(torch.cat([rows.s for rows in blocks]), ranks)
    target = -ranks.count(len(z)) * budget
    base, rest = _dual(sums, blocks, target=target, least=least, most=most, ranks=ranks)
    for rows, into in zip(blocks, projected.split(height), strict=True):
        into.copy_(project(rows, base, rest))
    return projected


@torch.no_grad()
def ball(z: Tensor, *, radius: float, ranks: Ranks = ALONE, out: Tensor | None = None) -> Tensor:
    """argmin_Q 1/2 ||Q - z||^2  s.t.  ||Q||_2 <= radius,  for z (n,): Lambda's Q as shifts, radius = eps2."""
    if not radius >= 0:
        raise ValueError(f"radius is {radius}; it must not be negative")
    # Divided by its largest entry, z has squares that neither overflow nor all vanish.
    least, most = _range(z, ranks)
    largest = max(-least, most, sys.float_info.min)
    parts = z.split(_BLOCK)
    squares = sum(float((part.to(torch.float64) / largest).square_().sum()) for part in parts)
    norm = math.sqrt(float(ranks.sum(float64(squares))[0]))
    projected = torch.empty_like(z) if out is None else out
    inside = largest * norm <= radius
    for part, into in zip(parts, projected.split(_BLOCK), strict=True):
        into.copy_(part if inside else (part.to(torch.float64) / largest).mul_(radius / norm))
    return projected
