"""Measures against scikit-learn's."""

import numpy as np
import pytest
import torch

from safegain.bilevel.measures import MEASURES
from safegain.search.contest import calibrated_log_losses


def test_measures_against_scikit_learn():
    from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error

    random = torch.Generator().manual_seed(0)
    z = torch.randn(40, 3, dtype=torch.float64, generator=random)
    y = torch.randint(3, (40,), generator=random)
    p = torch.softmax(z, dim=1)
    assert float(MEASURES["log_loss"].value(z, y).mean()) == pytest.approx(log_loss(y, p))
    assert float(MEASURES["brier"].value(z, y).mean()) == pytest.approx(
        float((p - torch.eye(3, dtype=torch.float64)[y]).square().sum(dim=1).mean())
    )
    assert float(MEASURES["expected_error"].value(z, y).mean()) == pytest.approx(1 - float(p[range(40), y].mean()))
    t = torch.randn(40, dtype=torch.float64, generator=random)
    assert float(MEASURES["squared_error"].value(z, t).mean()) == pytest.approx(mean_squared_error(t, z[:, 0]))
    assert float(MEASURES["absolute_error"].value(z, t).mean()) == pytest.approx(mean_absolute_error(t, z[:, 0]))


def test_calibrated_log_loss_is_the_minimum_over_temperatures():
    from scipy.optimize import minimize_scalar

    random = torch.Generator().manual_seed(0)
    y = torch.randint(4, (80,), generator=random)
    z = torch.randn(80, 4, dtype=torch.float64, generator=random) + torch.eye(4, dtype=torch.float64)[y]
    best = minimize_scalar(lambda t: float(MEASURES["log_loss"].value(np.exp(t) * z, y).mean()), bounds=(-5, 5)).fun
    for size in (1e-2, 1.0, 50.0):  # it does not depend on how sure the logits are
        assert float(calibrated_log_losses(size * z, y).mean()) == pytest.approx(best, abs=1e-9)
    assert float(calibrated_log_losses(100 * torch.eye(4)[y], y).mean()) == pytest.approx(0, abs=1e-12)
