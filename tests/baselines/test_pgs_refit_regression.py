"""The refit of numbers: its candidates, and how firm a gain must be."""

import numpy as np
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression

from safegain import baselines as methods
from safegain.baselines.base import WeakData
from safegain.baselines.pgs_refit_regression import FIRM, Candidate, best_candidate


def test_linear_baseline_is_left_only_for_a_firm_gain():
    random = np.random.RandomState(0)
    X = random.randn(200, 1)
    weak = WeakData.__new__(WeakData)
    weak.held = np.arange(200) >= 150
    weak.labels = type("labels", (), {"numbers": X[:, 0] + 0.1 * random.randn(200)})()
    baseline = Candidate(np.ones(200), np.where(weak.held, weak.labels.numbers, X[:, 0] + 1))
    better = Candidate(np.ones(200), weak.labels.numbers)
    assert best_candidate(X, weak, [baseline, better]) is better
    # A lower loss within the standard error of the gain is not enough; beyond it, it is.
    held = weak.held

    def gain_in_errors(candidate):
        losses = [
            (each.fit(X, ~held).predict(X[held]) - weak.labels.numbers[held]) ** 2 for each in (better, candidate)
        ]
        gain = losses[0] - losses[1]
        return gain.mean() / (gain.std() / np.sqrt(held.sum()))

    tilts = [Candidate(np.ones(200), weak.labels.numbers + tilt) for tilt in np.linspace(-0.1, 0.1, 81)]
    gains = np.array([gain_in_errors(tilt) for tilt in tilts[:40] + tilts[41:]])
    lucky = (tilts[:40] + tilts[41:])[int(np.argmin(np.abs(gains - 0.8)))]
    assert 0.2 < gain_in_errors(lucky) < FIRM
    assert best_candidate(X, weak, [better, lucky]) is better
    weak.held = np.zeros(200, dtype=bool)
    assert best_candidate(X, weak, [baseline, better]) is baseline


def test_linear_refit_gains_on_noisy_targets_and_its_first_candidate_is_the_baseline():
    X, y = make_regression(n_samples=600, n_features=8, noise=10, random_state=0)
    random = np.random.RandomState(1)
    trusted = np.arange(600) >= 400
    weak = np.where(trusted | (random.rand(600) < 0.5), y, y + 300 * random.randn(600))
    refit = methods.PGSRefitRegressor(random_state=0).fit(X[:500], weak[:500], trusted=trusted[:500])
    baseline = methods.BaselineRegressor(random_state=0).fit(X[:500], weak[:500], trusted=trusted[:500])
    assert refit.score(X[500:], y[500:]) > baseline.score(X[500:], y[500:])
    unmoved = methods.PGSRefitRegressor(selection_fraction=0.0, random_state=0)
    unmoved.fit(X[:500], weak[:500], trusted=trusted[:500])
    assert np.allclose(unmoved.predict(X), LinearRegression().fit(X[:500], weak[:500]).predict(X))
    assert (unmoved.predict(X) == baseline.predict(X)).all()
    tuned = methods.TunedBaselineRegressor(random_state=0).fit(X[:500], weak[:500], trusted=trusted[:500])
    assert tuned.score(X[500:], y[500:]) > baseline.score(X[500:], y[500:])
    few = np.where(np.arange(500) % 2 == 0, y[:500], np.nan)
    few[trusted[:500]] = y[:500][trusted[:500]]
    plain, tuned = (each.fit(X[:500], few, trusted=trusted[:500]) for each in (baseline, tuned))
    assert (tuned.predict(X) == plain.predict(X)).all()  # rows without a label have nothing to offer


def test_a_candidate_with_every_weight_one_is_least_squares_to_the_last_bit():
    for seed in range(20):
        random = np.random.RandomState(seed)
        X, y = random.rand(61, 7), random.rand(61)
        found = Candidate(np.ones(61), y).fit(X, np.ones(61, dtype=bool))
        assert (found.predict(X) == LinearRegression().fit(X, y).predict(X)).all()
