"""The lower level and its derivatives against autograd and finite differences."""

import pytest
import torch

from safegain.bilevel.lower import Batch
from tests.bilevel.softmax import close, random_vector
from tests.problems import CASE_IDS, CASES, make_problem

every_case = pytest.mark.parametrize("case", CASES, ids=CASE_IDS)


@every_case
def test_lower_level_is_its_definition_and_its_derivatives(case):
    problem = make_problem(*case)
    lower, point, theta = problem.lower, problem.point, problem.theta.clone().requires_grad_()
    w, Q = point.w.clone().requires_grad_(), point.Q.clone().requires_grad_()
    rows = torch.tensor([1, 5, 5, 8, 20])
    v = torch.randn(len(theta), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for batch in (None, Batch(rows, len(rows))):
        loss = problem.training_loss(theta, w, Q, batch and batch.rows)
        (g,) = torch.autograd.grad(loss, theta, create_graph=True)
        hv, gw, gQ = torch.autograd.grad((g * v).sum(), (theta, w, Q))
        with torch.no_grad():
            close(lower.gradient(theta, point.w, point.Q, batch), g.detach(), 1e-12)
            found_hv, found_w, found_Q = lower.reverse(theta, point.w, point.Q, v, batch)
            index = torch.arange(len(w)) if batch is None else rows
            close(found_hv, hv, 1e-12)
            close(torch.zeros_like(w).index_add(0, index, found_w), gw, 1e-12)
            close(torch.zeros_like(Q).index_add(0, index, found_Q), gQ, 1e-12)
    with torch.no_grad():
        close(lower.value(theta, point.w, point.Q), problem.training_loss(theta, point.w, point.Q), 1e-12)
        close(lower.hessian_product(theta, point.w, point.Q)(v), lower.hessian(theta, point.w, point.Q) @ v, 1e-12)
        found_w, found_Q = lower.mixed(theta, point.w, point.Q, v)
        close(found_w, lower.reverse(theta, point.w, point.Q, v)[1], 1e-12)
        close(found_Q, lower.reverse(theta, point.w, point.Q, v)[2], 1e-12)


@every_case
def test_gradients_equal_finite_differences(case):
    problem = make_problem(*case)
    point, step = problem.point, 1e-6  # small enough not to step over a kink
    g = problem.lower.gradient(problem.theta, point.w, point.Q)
    v = problem.upper.gradient(problem.theta, problem.raw)
    for i in range(0, len(g), 3):
        e = torch.zeros_like(g)
        e[i] = step
        up, down = (problem.lower.value(problem.theta + s * e, point.w, point.Q) for s in (1, -1))
        close(g[i], (up - down) / (2 * step), 1e-5)
        up, down = (problem.objective(problem.theta + s * e) for s in (1, -1))
        close(v[i], (up - down) / (2 * step), 1e-5)


@every_case
def test_all_that_is_known_of_a_point_is_autograds(case):
    problem = make_problem(*case)
    point, theta = problem.point, problem.theta
    here = problem.lower.local(theta, point.w, point.Q)
    close(here.value, problem.training_loss(theta, point.w, point.Q), 1e-12)
    H = torch.autograd.functional.hessian(lambda t: problem.training_loss(t, point.w, point.Q), theta)
    g = torch.autograd.functional.jacobian(lambda t: problem.training_loss(t, point.w, point.Q), theta)
    close(here.gradient, g, 1e-12)
    for seed in range(3):
        v = random_vector(len(theta), seed)
        close(here.hessian_product(v), H @ v, 1e-11)
        close(problem.lower.hessian_product(theta, point.w, point.Q)(v), H @ v, 1e-11)
    if problem.dense is None:
        return
    # Of a linear model, the mean of the rows' curvatures too.
    loss, k = problem.lower.loss, problem.lower.model.contrast.shape[0]
    z = problem.outputs(theta)
    e = torch.eye(k, dtype=torch.float64)
    columns = [
        (point.w[:, None] * loss.curve_at(loss.prediction(z), e[j].expand(len(z), k))).sum(dim=0) for j in range(k)
    ]
    close(loss.mean_curvature(here.prediction, point.w), torch.stack(columns, dim=1), 1e-12)
