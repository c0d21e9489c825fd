"""BootstrapLoss targets by hand."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from safegain.baselines.reed import BootstrapLoss
from tests.baselines.samples import generator, material, network


def test_bootstrapping_by_hand():
    of = material()
    z, y = torch.tensor([[1.0, 2.0, 0.5]]).double(), torch.tensor([0])
    q = torch.softmax(z, dim=1)[0]
    soft = BootstrapLoss(network(of), of, generator(), soft=True, beta=0.9).row_losses(z, y)
    assert soft.item() == pytest.approx(float(-0.9 * q[0].log() - 0.1 * (q * q.log()).sum()))
    hard = BootstrapLoss(network(of), of, generator(), soft=False, beta=0.8).row_losses(z, y)
    assert hard.item() == pytest.approx(float(-0.8 * q[0].log() - 0.2 * q[1].log()))


def test_trusted_rows_are_not_bootstrapped():
    of = material()
    objective = BootstrapLoss(network(of, dropout=0.0), of, generator(), soft=True, beta=0.1)
    trusted, weak = torch.arange(50, 60), torch.arange(10)
    with torch.no_grad():
        plain = [cross_entropy(objective.network(of.X[rows]), of.y[rows]) for rows in (trusted, weak)]
        assert objective.loss(trusted, 0.5) == pytest.approx(plain[0].item())
        assert abs(objective.loss(weak, 0.5) - plain[1]) > 1e-3
