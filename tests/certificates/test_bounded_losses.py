"""Losses that a certificate can speak of."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax

from safegain.bilevel.measures import MEASURES
from safegain.certificates.bounded_losses import CLASSIFICATION, BoundedLoss, bounded_loss
from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify
from tests.certificates.rivals import Numbers, Says


def test_measures_by_name_by_object_and_with_tolerances_of_their_own():
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(0, 2, n)
    sure = np.where(y == 1, 0.8, 0.2)
    new = Says(y, np.column_stack([1 - sure, sure]))
    old = Says(y, np.column_stack([sure * 0 + 0.5, sure * 0 + 0.5])[:, ::-1], classes=(1, 0))
    cost = BoundedLoss("cost", lambda y, said: 3.0 * (y != said), 3.0)
    claims = Claims(measures=["log_loss", "brier", cost], tolerance={"cost": 0.5})
    found = certify(new, old, np.arange(n), y, claims)
    log_loss, brier, of_cost = found.entries
    assert log_loss.gain == pytest.approx(math.log(0.8 / 0.5))
    assert brier.gain == pytest.approx(0.5 - 2 * 0.2**2)
    assert [e.tolerance for e in found.entries] == [0, 0, 0.5]
    assert of_cost.gain == 0
    assert found.certified  # the same cost on every row is no proof of "not higher", but is one within 0.5
    unknown = bounded_loss("log_loss", None).rows(
        Says(y, new.P, classes=("a", "b")), np.arange(2), np.array(["a", "c"]), "new", None
    )
    assert unknown[1] == -math.log(0.01)


def test_probabilities_of_single_precision_keep_within_the_bound():
    y = np.arange(300) % 2
    sure = np.column_stack([1 - y, y]).astype(np.float32)  # 0 where it is wrong: the largest loss that counts
    found = certify(Says(y, sure), Says(1 - y, sure[:, ::-1]), np.arange(300), y, Claims(measures="log_loss"))
    assert found.certified
    assert found.entries[0].gain == pytest.approx(math.log(100))


def test_regression_needs_a_clip_fixed_beforehand():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    new, old = Numbers(y + 0.1), Numbers(y + rng.normal(size=400))
    with pytest.raises(ValueError, match="clip: squared_error needs the largest error that is to count"):
        certify(new, old, np.arange(400), y)
    found = certify(new, old, np.arange(400), y, Claims(clip=1.5))
    assert found.certified
    assert found.entries[0].gain == pytest.approx((np.minimum(np.abs(y - old.said), 1.5) ** 2).mean() - 0.01)
    absolute = certify(new, old, np.arange(400), y, Claims(clip=1.5, measures="absolute_error")).entries[0]
    assert absolute.gain == pytest.approx(np.minimum(np.abs(y - old.said), 1.5).mean() - 0.1)
    assert absolute.lower_bound <= absolute.gain


def test_a_name_means_the_same_in_safeness_and_in_a_certificate():
    random = np.random.default_rng(0)
    z, classes, numbers = random.standard_normal((50, 3)), random.integers(3, size=50), random.standard_normal(50)
    P = softmax(z, axis=1)
    shared = [name for name in MEASURES if name in (*CLASSIFICATION, "squared_error", "absolute_error")]
    assert shared == ["log_loss", "brier", "squared_error", "absolute_error"]
    for name in shared:
        measure, bounded = MEASURES[name], bounded_loss(name, clip=100.0)
        y, said = (classes, P) if measure.classifies else (numbers, z[:, 0])
        expected = measure.value(torch.from_numpy(z), torch.from_numpy(y)).numpy()
        assert expected.max() < bounded.bound  # or the two would differ by what a certificate cuts off
        np.testing.assert_allclose(bounded.value(y, said), expected, rtol=1e-12)
