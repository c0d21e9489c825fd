"""Projections against a quadratic-program solver, against rational arithmetic, and against their own axioms."""

import math
from fractions import Fraction
from functools import partial

import cvxpy as cp
import numpy as np
import pytest
import torch
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from safegain.bilevel import projections
from safegain.bilevel.projections import ball, budgeted_simplex_rows, capped_box, simplex_rows

# Its cone programs run out of digits before these tolerances; the comparison at 1e-7 is what counts.
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
TIGHT = {"tol_gap_abs": 1e-15, "tol_gap_rel": 1e-15, "tol_feas": 1e-11}


def normal(*shape, seed=0, scale=1.0):
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def labels(n, k, seed=0):
    return torch.randint(k, (n,), generator=torch.Generator().manual_seed(seed))


def given_part(q, given):
    return q.gather(1, given[:, None]).squeeze(1)


# --- A quadratic program solver as the oracle -------------------------------------------------------------------


def solve(z, constraints):
    """argmin 1/2 ||w - z||^2 under constraints(w), by an interior point method run to its last digit."""
    w = cp.Variable(tuple(z.shape))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w - z.numpy())), constraints(w))
    problem.solve(solver=cp.CLARABEL, **TIGHT)
    return torch.from_numpy(np.asarray(w.value))


def qp_capped_box(z, least_sum):
    return solve(z, lambda w: [w >= 0, w <= 1, cp.sum(w) >= least_sum])


def qp_simplex_rows(z):
    return solve(z, lambda q: [q >= 0, cp.sum(q, axis=1) == 1])


def qp_budgeted(z, given, budget):
    hot = torch.nn.functional.one_hot(given, z.shape[1]).numpy()
    kept = len(z) * (1 - budget)
    return solve(z, lambda q: [q >= 0, cp.sum(q, axis=1) == 1, cp.sum(cp.multiply(hot, q)) >= kept])


BOXES = {
    "random": normal(30),
    "wide": normal(30, scale=20.0),
    "narrow": normal(30, scale=1e-4),
    "inside the box": normal(30).sigmoid(),
    "ties": normal(30).round(),
    "zeros and ones": torch.tensor([0.0, 1.0] * 8, dtype=torch.float64),
    "constant": torch.full((9,), -0.4, dtype=torch.float64),
    "far below": normal(12) - 50,
    "above": normal(12).abs() + 1,
    "one entry": torch.tensor([-0.3], dtype=torch.float64),
}


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.75, 0.99, 1.0])
@pytest.mark.parametrize("case", BOXES)
def test_capped_box_solves_its_quadratic_program(case, share):
    z = BOXES[case]
    w = capped_box(z, least_sum=share * len(z))
    torch.testing.assert_close(w, qp_capped_box(z, share * len(z)), rtol=0, atol=1e-7)
    assert w.min() >= 0
    assert w.max() <= 1
    assert w.sum() >= share * len(z) * (1 - 1e-12)


ROWS = {
    "random": normal(8, 5),
    "wide": normal(8, 5, scale=30.0),
    "narrow": normal(8, 5, scale=1e-4),
    "already on the simplex": normal(8, 5).softmax(dim=1),
    "ties": (2 * normal(10, 4)).round() / 2,
    "constant rows": normal(6, 1).expand(6, 4).contiguous(),
    "all equal": torch.full((5, 3), 0.7, dtype=torch.float64),
    "one-hot": torch.eye(4, dtype=torch.float64),
    "two classes": normal(10, 2),
    "one row": normal(1, 6),
    "one row, two classes": normal(1, 2),
    "200 classes": normal(3, 200, scale=0.1),
    "shifted rows": normal(8, 5) + torch.arange(8)[:, None] * 100.0,
}


@pytest.mark.parametrize("case", ROWS)
def test_simplex_rows_solves_its_quadratic_program(case):
    z = ROWS[case]
    q = simplex_rows(z)
    torch.testing.assert_close(q, qp_simplex_rows(z - z.amax(dim=1, keepdim=True)), rtol=0, atol=1e-7)
    assert q.min() >= 0
    torch.testing.assert_close(q.sum(dim=1), torch.ones(len(z), dtype=z.dtype), rtol=0, atol=4e-15)


@pytest.mark.parametrize("budget", [0.0, 0.01, 0.2, 0.5, 0.8, 0.97, 1.0])
@pytest.mark.parametrize("case", ROWS)
def test_budgeted_simplex_rows_solves_its_quadratic_program(case, budget):
    z = ROWS[case]
    given = labels(*z.shape)
    q = budgeted_simplex_rows(z, given, budget=budget)
    shifted = z - z.amax(dim=1, keepdim=True)
    torch.testing.assert_close(q, qp_budgeted(shifted, given, budget), rtol=0, atol=1e-7)
    assert q.min() >= 0
    torch.testing.assert_close(q.sum(dim=1), torch.ones(len(z), dtype=z.dtype), rtol=0, atol=4e-15)
    assert (1 - given_part(q, given)).mean() <= budget * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("radius", [0.0, 0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 30.0])
def test_ball_solves_its_cone_program(scale, radius):
    z = normal(7, scale=scale)
    w = ball(z, radius=radius)
    torch.testing.assert_close(w, solve(z, lambda w: [cp.norm(w) <= radius]), rtol=0, atol=1e-7)
    assert torch.linalg.vector_norm(w) <= radius * (1 + 1e-15)


def test_corners_are_exact():
    z, rows, given = normal(50, scale=1e3), normal(50, 4, scale=1e3), labels(50, 4)
    assert torch.equal(capped_box(z, least_sum=50), torch.ones_like(z))
    assert torch.equal(capped_box(z, least_sum=0), z.clamp(0, 1))
    assert torch.equal(capped_box(z - 1e4, least_sum=0), torch.zeros_like(z))
    hot = torch.nn.functional.one_hot(given, 4).double()
    assert torch.equal(budgeted_simplex_rows(rows, given, budget=0), hot)
    torch.testing.assert_close(budgeted_simplex_rows(rows, given, budget=1), simplex_rows(rows), rtol=0, atol=1e-15)


# --- Rational arithmetic as the oracle, where floats of a solver are too coarse ---------------------------------


def rational_root(total, breaks, target):
    """The mu >= 0 with total(mu) = target, total linear between the breaks; checked, so no break was forgotten."""
    if total(Fraction(0)) >= target:
        return Fraction(0)
    breaks = sorted({Fraction(0)} | {b for b in breaks if b > 0})
    low, high = 0, len(breaks) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total(breaks[middle]) < target else (low, middle)
    start, end = breaks[low], breaks[high]
    mu = start + (end - start) * (target - total(start)) / (total(end) - total(start))
    assert total(mu) == target
    return mu


def rational_capped_box(z, least_sum):
    z = [Fraction(value) for value in z.tolist()]
    clip = [lambda mu, v=v: min(max(v + mu, Fraction(0)), Fraction(1)) for v in z]
    breaks = [edge - v for v in z for edge in (0, 1)]
    mu = rational_root(lambda mu: sum(c(mu) for c in clip), breaks, Fraction(least_sum))
    return torch.tensor([float(c(mu)) for c in clip], dtype=torch.float64)


def rational_simplex(row):
    best = max((sum(top) - 1) / len(top) for top in (sorted(row, reverse=True)[: j + 1] for j in range(len(row))))
    return [max(value - best, Fraction(0)) for value in row]


def rational_budgeted(z, given, budget):
    rows = [[Fraction(value) for value in row] for row in z.tolist()]

    def moved(row, label, mu):
        return [value + (mu if column == label else 0) for column, value in enumerate(row)]

    def kept(mu):
        return sum(rational_simplex(moved(r, g, mu))[g] for r, g in zip(rows, given.tolist(), strict=True))

    breaks = []
    for row, label in zip(rows, given.tolist(), strict=True):
        others = row[:label] + row[label + 1 :]
        # Another entry v leaves when it equals tau, and the given one enters when it equals the others' tau.
        breaks += [1 + v - sum(max(o - v, 0) for o in others) - row[label] for v in others]
        tau = max(o - p for o, p in zip(others, rational_simplex(others), strict=True) if p > 0)
        breaks.append(tau - row[label])
    mu = rational_root(kept, breaks, len(rows) * (1 - Fraction(budget)))
    return torch.tensor(
        [[float(v) for v in rational_simplex(moved(r, g, mu))] for r, g in zip(rows, given.tolist(), strict=True)],
        dtype=torch.float64,
    )


HUGE = {
    "1e6 normal": lambda *shape: normal(*shape, scale=1e6),
    "1e12 normal": lambda *shape: normal(*shape, scale=1e12),
    "+-1e12": lambda *shape: 1e12 * normal(*shape).sign(),
    "+-1e12 and some": lambda *shape: 1e12 * normal(*shape).sign() + normal(*shape, seed=1),
    "-1e12 and some": lambda *shape: -1e12 + normal(*shape),
    "-1e15 and some": lambda *shape: -1e15 + normal(*shape),
    "1e12 and some": lambda *shape: 1e12 + normal(*shape),
    "a few -1e12": lambda *shape: normal(*shape) - 1e12 * (normal(*shape, seed=2) > 1),
    "clusters": lambda *shape: normal(*shape) - 10.0 ** (4 * normal(*shape, seed=3).abs()).round(),
    "tiny": lambda *shape: normal(*shape, scale=1e-12),
    "ordinary": lambda *shape: normal(*shape),
}


@pytest.mark.parametrize("share", [1e-6, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("case", HUGE)
def test_capped_box_is_exact_at_every_scale(case, share):
    z = HUGE[case](41)
    least_sum = share * len(z)
    w = capped_box(z, least_sum=least_sum)
    torch.testing.assert_close(w, rational_capped_box(z, least_sum), rtol=0, atol=1e-12)
    assert w.sum() >= least_sum * (1 - 1e-12)


@pytest.mark.parametrize("budget", [1e-6, 0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("case", HUGE)
def test_budgeted_simplex_rows_is_exact_at_every_scale(case, budget):
    z, given = HUGE[case](12, 4), labels(12, 4)
    q = budgeted_simplex_rows(z, given, budget=budget)
    torch.testing.assert_close(q, rational_budgeted(z, given, budget), rtol=0, atol=1e-12)
    assert (1 - given_part(q, given)).mean() <= budget * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("case", HUGE)
def test_simplex_rows_is_exact_at_every_scale(case):
    z = HUGE[case](12, 4)
    oracle = [[float(v) for v in rational_simplex([Fraction(v) for v in row])] for row in z.tolist()]
    torch.testing.assert_close(simplex_rows(z), torch.tensor(oracle, dtype=torch.float64), rtol=0, atol=1e-14)


# --- Optimality conditions, on data of more than one block ------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.45, 0.7, 0.999])
def test_capped_box_moves_every_free_weight_by_one_dual(share, dtype):
    z = normal(40 * projections._BLOCK + 17).to(dtype)  # enough blocks to start from a sample of them
    w = capped_box(z, least_sum=share * len(z)).double()
    ulp = torch.finfo(dtype).eps
    free = (w > 0) & (w < 1)
    mu = (w - z.double())[free]
    assert mu.max() - mu.min() <= 4 * ulp
    assert mu.min() > 0
    assert (z.double()[w == 0] + mu.median()).max() <= 4 * ulp
    assert (z.double()[w == 1] + mu.median()).min() >= 1 - 4 * ulp
    assert abs(float(w.sum()) / (share * len(z)) - 1) <= (1e-12 if dtype == torch.float64 else 1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
@pytest.mark.parametrize(("n", "k"), [(110_000, 10), (550_000, 2), (5_500, 200)])
def test_budgeted_rows_share_one_dual(n, k, share, dtype):
    z, given = normal(n, k).to(dtype), labels(n, k)
    budget = share * float((1 - given_part(simplex_rows(z), given)).double().mean())
    q = budgeted_simplex_rows(z, given, budget=budget).double()
    ulp = torch.finfo(dtype).eps
    torch.testing.assert_close(q.sum(dim=1), torch.ones(n, dtype=torch.float64), rtol=0, atol=8 * ulp)
    others = q.scatter(1, given[:, None], -1.0).argmax(dim=1)
    both = (given_part(q, given) > 0) & (given_part(q, others) > 0)
    step = q - z.double()
    mu = (given_part(step, given) - given_part(step, others))[both]
    assert both.any()
    assert mu.max() - mu.min() <= 16 * ulp
    assert mu.min() > 0
    lifted = step.scatter_add(1, given[:, None], -mu.median().expand(n, 1))  # -tau on the support, more off it
    tau = -torch.where(q > 0, lifted, -math.inf).amax(dim=1, keepdim=True)
    assert (lifted + tau)[q > 0].abs().max() <= 32 * ulp
    assert (lifted + tau).min() >= -32 * ulp
    assert abs(float((1 - given_part(q, given)).mean()) / budget - 1) <= (1e-12 if dtype == torch.float64 else 2e-7)


@pytest.mark.parametrize("sampled", [-5.0, 0.3, 5.0])
@pytest.mark.parametrize("others", [-5.0, 0.3, 5.0])
@pytest.mark.parametrize("fraction", [0.1, 0.6, 0.95])
def test_a_misleading_sample_misleads_nobody(monkeypatch, fraction, others, sampled):
    """The dual starts where a sample of the blocks puts it; here the sample is unlike the rest."""
    monkeypatch.setattr(projections, "_BLOCK", 4)
    monkeypatch.setattr(projections, "_SAMPLE", 3)
    shift = torch.full((60,), others, dtype=torch.float64)
    shift.view(15, 4)[::3] = sampled
    z = normal(60, scale=0.2) + shift
    w = capped_box(z, least_sum=60 * fraction)
    torch.testing.assert_close(w, rational_capped_box(z, 60 * fraction), rtol=0, atol=1e-12)
    rows = torch.stack([z, torch.zeros_like(z)], dim=1)[:30]
    given = torch.zeros(30, dtype=torch.int64)
    q = budgeted_simplex_rows(rows, given, budget=1 - fraction)
    torch.testing.assert_close(q, rational_budgeted(rows, given, 1 - fraction), rtol=0, atol=1e-12)


def test_the_dual_takes_few_sums(monkeypatch):
    """What makes it fast: a handful of sums over all the data, no bisecting to a tolerance."""
    runs, root = [], projections._root

    def counted(sums, **bracket):
        runs.append([])
        return root(lambda mu: runs[-1].append(mu) or sums(mu), **bracket)

    def full_sums():  # the last two runs are over all the data; before them, those over a sample of its blocks
        return len(runs[-2]) + len(runs[-1])

    monkeypatch.setattr(projections, "_root", counted)
    capped_box(normal(100_000), least_sum=70_000)
    assert full_sums() <= 8
    budgeted_simplex_rows(normal(10_000, 10), labels(10_000, 10), budget=0.3)
    assert full_sums() <= 8
    capped_box(normal(100_000, scale=0.1) - 30, least_sum=10_000)  # the dual is coarser than the weights
    assert full_sums() <= 16
    capped_box(normal(100_000), least_sum=100)  # more than enough weight already
    assert full_sums() == 1

    monkeypatch.setattr(projections, "_BLOCK", 1000)
    capped_box(normal(100_000), least_sum=70_000)
    assert full_sums() <= 5
    misleading = torch.full((100, 1000), 2.0, dtype=torch.float64)
    misleading[:: projections._SAMPLE] = normal(4, 1000) - 5
    capped_box(misleading.flatten(), least_sum=90_000)  # enough weight, but not in the sample
    assert full_sums() == 2


# --- What every projection promises -----------------------------------------------------------------------------


ALL = {
    "capped_box": (capped_box, (24,), lambda fraction: {"least_sum": 24 * fraction}),
    "simplex_rows": (simplex_rows, (6, 4), lambda fraction: {}),
    "budgeted_simplex_rows": (
        partial(budgeted_simplex_rows, given=labels(6, 4)),
        (6, 4),
        lambda fraction: {"budget": fraction},
    ),
    "ball": (ball, (24,), lambda fraction: {"radius": 10 * fraction}),
}
FRACTIONS = st.sampled_from([0.0, 1e-9, 0.1, 0.3, 0.5, 0.9, 1 - 1e-9, 1.0])
ENTRIES = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([-1e12, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1e12]),
    st.floats(-1e12, 1e12),
)
POINTS = st.lists(ENTRIES, min_size=24, max_size=24).map(partial(torch.tensor, dtype=torch.float64))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=150, deadline=None, derandomize=True)
@for_all(a=POINTS, b=POINTS, fraction=FRACTIONS)
def test_is_a_projection(name, a, b, fraction):
    """Finite, idempotent, and never farther apart than the inputs."""
    function, shape, options = ALL[name]
    project = partial(function, **options(fraction))
    a, b = a.reshape(shape), b.reshape(shape)
    pa, pb = project(a), project(b)
    assert pa.isfinite().all()
    torch.testing.assert_close(project(pa), pa, rtol=0, atol=1e-12)
    assert torch.linalg.vector_norm(pa - pb) <= torch.linalg.vector_norm(a - b) * (1 + 1e-9) + 1e-12


@settings(max_examples=150, deadline=None, derandomize=True)
@for_all(z=POINTS, share=st.floats(0, 1))
def test_capped_box_matches_rational_arithmetic(z, share):
    least_sum = share * len(z)
    oracle = rational_capped_box(z, least_sum)
    torch.testing.assert_close(capped_box(z, least_sum=least_sum), oracle, rtol=0, atol=1e-12)


@settings(max_examples=150, deadline=None, derandomize=True)
@for_all(z=POINTS, seed=st.integers(0, 9), budget=st.floats(0, 1))
def test_budgeted_simplex_rows_matches_rational_arithmetic(z, seed, budget):
    z, given = z.reshape(8, 3), labels(8, 3, seed=seed)
    oracle = rational_budgeted(z, given, budget)
    torch.testing.assert_close(budgeted_simplex_rows(z, given, budget=budget), oracle, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("name", ALL)
def test_float32_is_float64_rounded(name, fraction, scale):
    function, shape, options = ALL[name]
    project = partial(function, **options(fraction))
    z = normal(*shape, scale=scale).float()
    projected = project(z)
    assert projected.dtype == torch.float32
    torch.testing.assert_close(projected, project(z.double()).float(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", ALL)
def test_input_is_left_alone(name, fraction, dtype):
    function, shape, options = ALL[name]
    z = normal(*shape).to(dtype)
    before = z.clone()
    function(z, **options(fraction)).zero_()  # writing into the result must not reach the input either
    assert torch.equal(z, before)


@pytest.mark.parametrize("largest", [0.0, 5e-324, 1e-200, 1e200, 1.7e308])
def test_ball_neither_overflows_nor_divides_by_zero(largest):
    z = torch.full((9,), largest, dtype=torch.float64)
    w = ball(z, radius=1.0)
    torch.testing.assert_close(w, z if largest < 1 else torch.full_like(z, 1 / 3), rtol=1e-15, atol=0)
    assert torch.equal(ball(z, radius=0.0), torch.zeros_like(z))


@pytest.mark.parametrize(
    "call",
    [
        partial(capped_box, normal(3), least_sum=3.1),
        partial(capped_box, normal(3), least_sum=-1.0),
        partial(capped_box, normal(3), least_sum=math.nan),
        partial(budgeted_simplex_rows, normal(3, 2), labels(3, 2), budget=1.1),
        partial(budgeted_simplex_rows, normal(3, 2), labels(3, 2), budget=-0.1),
        partial(ball, normal(3), radius=-1.0),
    ],
)
def test_empty_sets_are_refused(call):
    with pytest.raises(ValueError, match=r"is (-?[0-9.]+|nan); "):
        call()
