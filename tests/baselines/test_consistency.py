"""The consistency term, pass by pass, and the average that Mean Teacher keeps."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from safegain.baselines.consistency import ConsistencyLoss, TeacherLoss, ramp_up
from safegain.learners.recipe import draw
from tests.baselines.samples import generator, material, network


def test_consistency_ramp():
    assert ramp_up(0) == pytest.approx(np.exp(-5))
    assert ramp_up(0.2) == pytest.approx(np.exp(-1.25))
    assert ramp_up(0.4) == ramp_up(1) == 1


def test_pi_model_compares_two_noisy_passes():
    of = material(unlabelled=20)
    rows = of.labelled[:8]
    still = ConsistencyLoss(network(of, dropout=0.0), of, generator(), weight=100.0)
    still.noise = 0.0
    plain = cross_entropy(still.network(of.X[rows]), of.y[rows])
    assert still.loss(rows, 1.0).item() == pytest.approx(plain.item())  # two equal passes agree
    shaken = ConsistencyLoss(network(of), of, generator(5), weight=3.0)
    total = shaken.loss(rows, 1.0)
    again = ConsistencyLoss(network(of), of, generator(5), weight=3.0)
    both = torch.cat([rows, draw(of.unlabelled, 8, again.generator)])
    z, other = again.noisy(again.network, both), again.noisy(again.network, both)
    distance = (torch.softmax(z, dim=1) - torch.softmax(other, dim=1)).square().mean()
    assert distance > 0
    assert total.item() == pytest.approx((cross_entropy(z[:8], of.y[rows]) + 3 * distance).item())
    total.backward()
    (cross_entropy(z[:8], of.y[rows]) + 3 * distance).backward()
    assert torch.allclose(shaken.network.theta.grad, again.network.theta.grad)  # through both passes
    # A teacher's pass is a target: nothing flows into it.
    taught = TeacherLoss(network(of), of, generator(5), weight=3.0, decay=0.9)
    taught.loss(rows, 1.0).backward()
    assert taught.teacher.theta.grad is None
    assert not torch.allclose(taught.network.theta.grad, shaken.network.theta.grad)


def test_mean_teacher_is_the_running_average():
    of = material()
    net = network(of)
    objective = TeacherLoss(net, of, generator(), weight=1.0, decay=0.7)
    past = [net.theta.detach().clone()]
    for step in range(1, 8):
        with torch.no_grad():
            net.theta.add_(torch.randn(net.theta.shape, generator=generator(step)).double())
        past.append(net.theta.detach().clone())
        objective.after_step()
    expected = past[0]
    for step in range(1, 8):
        kept = min(step / (step + 1), 0.7)
        expected = kept * expected + (1 - kept) * past[step]
    assert torch.allclose(objective.teacher.theta, expected, atol=1e-14)
    assert objective.judged is objective.teacher
    assert torch.equal(net.theta, past[-1])
    # While young it is the plain mean: with steps 1 and 2 only, (start + first + second) / 3.
    young = TeacherLoss(network(of), of, generator(), weight=1.0, decay=0.999)
    start = young.network.theta.detach().clone()
    for _ in range(2):
        with torch.no_grad():
            young.network.theta.add_(3)
        young.after_step()
    assert torch.allclose(young.teacher.theta, start + 3)
