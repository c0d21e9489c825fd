"""Algorithm 1 against finite differences, and its engines against each other."""

from dataclasses import replace

import pytest
import torch
from sklearn.datasets import load_digits

from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
from safegain.bilevel.linear_algebra import (
    conjugate_gradient,
    largest_curvature,
)
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.solvers import ClosedForm, Descent, Newton
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import GradientDescent
from safegain.data.inputs import fit_inputs
from tests.bilevel.hypergradients import assert_matches_differences, every_case, hypergradient, relative, solvable
from tests.bilevel.softmax import random_vector, softmax_problem, solve
from tests.bilevel.softmax import relative as apart
from tests.problems import CASES, make_problem


@every_case
@pytest.mark.parametrize("engine", [Cholesky(), ConjugateGradient()], ids=["cholesky", "cg"])
def test_implicit_engines_equal_finite_differences_at_the_solution(case, engine):
    problem, solver = solvable(case), Newton(tol=1e-13)
    point = problem.point
    solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta)
    problem = replace(problem, theta=solution.theta)  # so that every difference starts next to its own solution
    assert_matches_differences(
        problem, solver, hypergradient(problem, solver, engine), step=1e-4 if case[0] == "network" else 1e-3
    )


@every_case
def test_engines_agree_at_the_solution(case):
    problem = solvable(case)
    solver = Newton(tol=1e-13)
    exact = hypergradient(problem, solver, Cholesky())
    assert relative(hypergradient(problem, solver, ConjugateGradient(tol=1e-13)), exact) <= 1e-6
    if case[0] == "network":
        return  # its Hessian has flat directions (units can be rotated into each other): no series converges
    assert relative(hypergradient(problem, solver, Neumann(terms=800)), exact) <= 1e-6
    if case[0] == "module" and case[2]:
        return  # autograd takes its time, and rows without a label are nothing new to it
    # Walking back over many steps at the solution is the same series.
    point = problem.point
    at_solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta).theta
    moved = replace(problem, theta=at_solution)
    rate = 1 / largest_curvature(problem.lower.hessian_product(at_solution, point.w, point.Q), at_solution)
    assert relative(hypergradient(moved, Descent(GradientDescent(rate), 800), Unrolled()), exact) <= 1e-6


@every_case
def test_neumann_is_its_own_series(case):
    problem = solvable(case)
    point, solver = problem.point, Newton(tol=1e-9)
    solution = solver.solve(problem.lower, point.w, point.Q, start=problem.theta)
    H = problem.lower.hessian(solution.theta, point.w, point.Q)
    v = problem.upper.gradient(solution.theta, problem.raw)
    step, u = 0.01, torch.zeros_like(v)
    for j in range(6):
        u += step * torch.linalg.matrix_power(torch.eye(len(v), dtype=torch.float64) - step * H, j) @ v
    expected = tuple(-g for g in problem.lower.mixed(solution.theta, point.w, point.Q, u))
    found = Neumann(terms=6, step=step).hypergradient(problem.lower, solution, point.w, point.Q, v)
    assert relative((found.w, found.Q), expected) <= 1e-10
    assert found.report["neumann_residual"] == pytest.approx(float((H @ u - v).norm() / v.norm()), rel=1e-8)


@pytest.mark.parametrize("case", [c for c in CASES if c[0] in ("linear", "sparse") and c[1] is None])
def test_closed_form_shares_its_factor_with_the_engine(case):
    problem = make_problem(*case)
    by_newton = hypergradient(problem, Newton(tol=1e-13), Cholesky())
    assert relative(hypergradient(problem, ClosedForm(), Cholesky()), by_newton) <= 1e-9


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("d", "k"), [(20, 6), (30, 2)])  # the Hessian's approximation and the Hessian itself
def test_cg_engine_is_the_cholesky_engine(sparse, d, k):
    lower, w, Q = softmax_problem(d=d, k=k, sparse=sparse)
    assert lower.model.forms_hessian == (k == 2)
    solution, v = solve(lower, w, Q, tol=1e-11), random_vector(lower.model.n_parameters)
    assert solution.inverse is not None
    exact = Cholesky().hypergradient(lower, solution, w, Q, v)
    found = ConjugateGradient(tol=1e-11).hypergradient(lower, solution, w, Q, v)
    assert apart(found, exact) <= 1e-8
    assert found.report["cg_residual"] <= 1e-10
    assert found.report["cg_iterations"] <= (5 if k == 2 else 60)


def test_a_hessian_is_formed_where_its_approximation_is_poor():
    """Separable rows: a few are uncertain, and their columns are correlated unlike the others'."""
    X, y = load_digits(return_X_y=True)
    inputs = fit_inputs(X, model="linear", scaling="auto")
    lower = LowerLevel(Linear(65, 10), CrossEntropy(), inputs.rows(X), None, 1e-4)
    w, Q = torch.ones(len(y), dtype=torch.float64), torch.eye(10, dtype=torch.float64)[torch.from_numpy(y)]
    assert not lower.model.forms_hessian
    solution, v = solve(lower, w, Q, tol=1e-10), random_vector(lower.model.n_parameters)
    assert solution.report["gradient"] <= 1e-10
    assert solution.report["products"] <= 200
    found = ConjugateGradient(tol=1e-10).hypergradient(lower, solution, w, Q, v)
    assert found.report["cg_iterations"] <= 5
    assert apart(found, Cholesky().hypergradient(lower, solution, w, Q, v)) <= 1e-7


def test_reported_residual_is_the_one_that_is_left():
    lower, w, Q = softmax_problem()
    solution, v = solve(lower, w, Q, tol=1e-9), random_vector(lower.model.n_parameters)
    H = lower.hessian(solution.theta, w, Q)
    inverse = solution.inverse
    for damping in (0.0, 0.3):
        cut = ConjugateGradient(damping=damping, max_iter=3)
        u = conjugate_gradient(lambda p: H @ p, v, inverse=inverse, damping=damping, max_iter=3).x
        left = float((H @ u + damping * u - v).norm() / v.norm())
        assert cut.hypergradient(lower, solution, w, Q, v).report["cg_residual"] == pytest.approx(left, rel=1e-8)
