"""Skewed numbers on another scale: there and back, means and not medians, and what a file may say."""

import numpy as np
import pytest
from scipy.stats import yeojohnson
from sklearn.linear_model import Ridge

from safegain.learners.boosting import Boosting
from safegain.learners.huber import Huber
from safegain.learners.linear import Linear
from safegain.learners.reshaped import MARGIN, Reshaped, Scale, TrainedReshaped
from safegain.learners.several import Several
from safegain.learners.target import Target
from safegain.learners.wrapped import Wrapped

RANDOM = np.random.default_rng(0)
PRICES = np.exp(RANDOM.normal(3, 1, 2000))
BOTH_SIGNS = np.sinh(RANDOM.normal(0.5, 1.5, 2000))


@pytest.mark.parametrize(("kind", "y"), [("log", PRICES), ("yeo-johnson", PRICES), ("yeo-johnson", BOTH_SIGNS)])
def test_there_and_back(kind, y):
    scale = Scale.of(kind, y)
    inner = y[(y > np.quantile(y, 0.01)) & (y < np.quantile(y, 0.99))]
    t = scale.of_numbers(inner)
    assert abs(t.mean()) < 0.05
    assert t.std() == pytest.approx(1, abs=0.2)
    np.testing.assert_allclose(scale.numbers(t), inner, rtol=1e-9, atol=1e-9)


def test_the_exponent_is_the_most_likely_one():
    clipped = np.clip(BOTH_SIGNS, *np.quantile(BOTH_SIGNS, (0.01, 0.99)))
    size = np.median(np.abs(clipped))
    assert Scale.of("yeo-johnson", BOTH_SIGNS).exponent == pytest.approx(yeojohnson(clipped / size)[1], abs=1e-3)


def test_wrong_units_do_not_bend_the_scale():
    wild = PRICES.copy()
    wild[:10] *= 1e6
    for kind in ("log", "yeo-johnson"):
        plain, found = Scale.of(kind, PRICES), Scale.of(kind, wild)
        np.testing.assert_allclose(found.of_numbers(PRICES[10:]), plain.of_numbers(PRICES[10:]), atol=0.1)


def test_numbers_below_zero_have_the_least_logarithm():
    scale = Scale.of("log", np.append(PRICES, [-5.0, 0.0]))
    assert np.isfinite(scale.of_numbers(np.array([-5.0, 0.0, 1e-9]))).all()


def test_answers_are_means_of_the_users_numbers():
    """A product: a straight line of logarithms, whose errors are alike. Least squares on y itself cannot tell."""
    X = RANDOM.normal(size=(4000, 3))
    mean = np.exp(X @ [1.0, 0.5, 0.0] + 0.5 * 0.6**2)
    y = np.exp(X @ [1.0, 0.5, 0.0] + 0.6 * RANDOM.normal(size=4000))
    reshaped, plain = (kind.train(X, Target(y, None), 0).predict(X) for kind in (Reshaped(Linear()), Linear()))
    inner = mean < np.quantile(mean, 0.95)
    assert (reshaped / mean)[inner].mean() == pytest.approx(1, abs=0.03)
    assert np.square(reshaped - mean).mean() < 0.2 * np.square(plain - mean).mean()


def test_answers_stay_within_the_range():
    X = np.linspace(0, 1, 200)[:, None]
    y = np.exp(5 * X[:, 0])
    model = Reshaped(Linear(alpha=0.0)).train(X, Target(y, None), 0)
    far = model.predict(np.array([[100.0], [-100.0]]))
    assert far[0] <= y.max() ** (1 + MARGIN) * 1.1
    assert far[1] > 0


def test_a_power_below_zero_has_no_answers_beyond_its_end():
    y = 1 / np.random.default_rng(0).uniform(0.001, 1, size=500)
    scale = Scale.of("yeo-johnson", y)
    assert scale.exponent < -0.5
    low, high = np.quantile(y, (0.001, 0.999))
    found = scale.numbers(np.array([-100.0, 100.0]))
    assert np.isfinite(found).all()
    np.testing.assert_array_less([2 * low - high - 1e-6, found[0]], [found[0], low])
    assert high < found[1] <= 2 * high - low + 1e-6


def test_rows_without_weight_have_no_say():
    X, weight = RANDOM.normal(size=(2000, 2)), (np.arange(2000) < 1500).astype(float)
    one, two = (
        Reshaped(Huber(), "yeo-johnson").train(X, Target(y, None, weight), 0).predict(X)
        for y in (PRICES, np.where(weight > 0, PRICES, 1e9))
    )
    np.testing.assert_allclose(one, two, rtol=1e-9)


def test_settings_and_what_it_takes():
    with pytest.raises(ValueError, match="Reshaped: scale must be one of log, yeo-johnson, got 'square'"):
        Reshaped(Linear(), "square")
    for wrong in ("linear", Wrapped(Ridge()), Several([Linear()]), Reshaped(Linear())):
        with pytest.raises(ValueError, match="Reshaped: learner must be one of Safegain's own"):
            Reshaped(wrong)
    assert Reshaped(Boosting(), "yeo-johnson").draft() == Reshaped(Boosting().draft(), "yeo-johnson")
    with pytest.raises(ValueError, match="model: Reshaped is for numbers"):
        Reshaped(Linear()).check_task(classifies=True)
    Reshaped(Linear()).check_task(classifies=False)
    assert Reshaped(Linear()).takes_sparse
    assert not Reshaped(Boosting()).takes_sparse
    assert Reshaped(Boosting()).takes_gaps
    assert Reshaped(Boosting()).cost(100, 3, 1) == Boosting().cost(100, 3, 1)
    found = Reshaped(Boosting(), "log").variants("raw", 10, classifies=False)
    assert found == (Reshaped(Boosting()), Reshaped(Boosting(loss="absolute")))


@pytest.mark.parametrize("wrong", [{"unit": 0.0}, {"size": -1.0}, {"mean": np.nan}, {"least": 3.0}])
def test_what_is_no_scale(wrong):
    with pytest.raises(ValueError, match="a scale has"):
        Scale(**{"exponent": 0.5, "size": 1.0, "mean": 0.0, "unit": 1.0, "least": -2.0, "most": 2.0} | wrong)


@pytest.mark.parametrize("off", [(), (0.0, np.inf)])
def test_what_are_no_residuals(off):
    with pytest.raises(ValueError, match="a model on another scale has no residuals"):
        TrainedReshaped(None, Scale(None, 1.0, 0.0, 1.0, -1.0, 1.0), off)


def test_it_has_no_classes():
    model = TrainedReshaped(None, Scale(None, 1.0, 0.0, 1.0, -1.0, 1.0), (0.0,))
    with pytest.raises(AttributeError, match="no predict_proba"):
        model.predict_proba(np.ones((2, 2)))
    with pytest.raises(AttributeError, match="no classes"):
        model.classes_  # noqa: B018
