import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from torch.nn.functional import cross_entropy

from safegain.learners.calibration import calibrate, smoothed
from tests.evidence.samples import made


@pytest.mark.parametrize(("n", "signal"), [(40, 1.5), (40, -1.5), (6, 30.0)])
def test_calibration_reaches_its_optimum(n, signal):
    y = torch.from_numpy(np.random.RandomState(0).randint(3, size=n))
    scores = (made((n, 3), seed=1) + signal * torch.eye(3, dtype=torch.float64)[y]).float()
    found = calibrate(scores, torch.eye(3)[y])
    Z, smooth = scores.double().numpy(), (n + 1) / (n + 2) * np.eye(3)[y] + 1 / (n + 2) / 3

    def objective(v):
        return -(smooth * log_softmax(v[0] * Z + v[1:], axis=1)).sum() / n + v[1:] @ v[1:] / (2 * n)

    at = np.array([found.scale, *found.bias])
    slope = approx_fprime(at, objective, 1e-7)
    assert np.abs(slope[1:]).max() < 1e-3
    assert abs(slope[0]) < 1e-3 or (found.scale == 0 and slope[0] > 0)  # scores that mislead are not turned round
    assert (found.scale == 0) == (signal < 0)
    oracle = min(minimize(objective, [s, 0, 0, 0], bounds=[(0, None)] + [(None, None)] * 3).fun for s in (0.1, 1.0))
    assert objective(at) <= oracle + 1e-5
    assert found.loss == pytest.approx(float(cross_entropy(found.scale * scores + found.bias, y)), abs=1e-5)
    np.testing.assert_allclose(found(scores).exp().sum(dim=1), 1, atol=1e-6)
    assert float(found(scores).exp().max()) < 0.97 or n > 6  # a few rows that are all right make no other certain


def test_weights_count_as_rows():
    scores, wanted = made((60, 3), seed=1), torch.softmax(made((60, 3), seed=2), dim=1)
    weight = torch.arange(60) % 3
    found = calibrate(scores, wanted, weight)
    several = torch.arange(60).repeat_interleave(weight)
    same = calibrate(scores[several], wanted[several])
    assert found.scale == pytest.approx(same.scale, abs=1e-4)
    np.testing.assert_allclose(found.bias, same.bias, atol=1e-4)
    assert found.loss == pytest.approx(same.loss)


def test_smoothed_by_one_row_in_all():
    found = smoothed(np.eye(2)[[0, 1, 1]])
    np.testing.assert_allclose(found, [[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]])
