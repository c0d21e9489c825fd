"""The semi-supervised rule: what labelled rows keep, and where rows without a label start."""

from dataclasses import replace

import pytest
import torch

from safegain.bilevel.free_space import FreeSpace
from safegain.bilevel.raw_model import raw_point
from safegain.bilevel.search_space import Point
from safegain.bilevel.semi_supervised import labelled_part, with_predictions
from tests.problems import make_problem

LABELLED = torch.arange(24) % 3 > 0


@pytest.mark.parametrize("model", ["linear", "sparse", "network"])
def test_classes_start_from_the_softmax_of_the_raw_model(model):
    problem = make_problem(model, 3, False)
    y = torch.where(LABELLED, torch.arange(24) % 2, -1)
    Q = raw_point(y, 3, torch.float64).Q
    z = problem.outputs(problem.theta)
    lower, found = with_predictions(problem.lower, Q, LABELLED, z)
    assert lower is problem.lower
    assert torch.equal(found[LABELLED], torch.eye(3, dtype=torch.float64)[y[LABELLED]])
    assert torch.equal(found[~LABELLED], torch.softmax(z[~LABELLED], dim=1))


def test_numbers_start_from_the_prediction_of_the_raw_model():
    problem = make_problem("linear", None, False)
    missing = torch.where(LABELLED, problem.lower.base, torch.nan)
    Q = raw_point(missing, None, torch.float64).Q
    z = problem.outputs(problem.theta)
    lower, found = with_predictions(replace(problem.lower, base=missing), Q, LABELLED, z)
    assert torch.equal(found, torch.zeros(24, dtype=torch.float64))
    assert torch.equal(lower.base, torch.where(LABELLED, problem.lower.base, z[:, 0]))


@pytest.mark.parametrize(("model", "k"), [("linear", None), ("sparse", 3), ("network", 3)])
def test_the_raw_model_is_trained_on_labelled_rows_alone(model, k):
    problem, point = make_problem(model, k, False), make_problem(model, k, False).point
    part = labelled_part(problem.lower, LABELLED)
    assert part.n_rows == int(LABELLED.sum())
    found = part.gradient(problem.theta, point.w[LABELLED], point.Q[LABELLED])
    theta = problem.theta.clone().requires_grad_()
    loss = problem.training_loss(theta, point.w, point.Q, LABELLED.nonzero()[:, 0])
    torch.testing.assert_close(found, torch.autograd.grad(loss, theta)[0], rtol=1e-12, atol=1e-13)


def test_only_rows_without_a_label_are_searched():
    origin = Point(torch.ones(24, dtype=torch.float64), torch.eye(24, 3, dtype=torch.float64))
    space = FreeSpace(origin, eps1=0.0, eps2=1.0, free=~LABELLED)
    w, Q = space.start()
    assert len(w) == len(Q) == int((~LABELLED).sum())
    moved = space.point((w * 0, Q * 0))
    assert torch.equal(moved.w, LABELLED.double())
    assert torch.equal(moved.Q[LABELLED], origin.Q[LABELLED])
