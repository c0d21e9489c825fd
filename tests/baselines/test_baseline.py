"""What a user would do anyway."""

from safegain import baselines as methods
from tests.baselines.samples import SHORT, noisy_digits


def test_best_baseline_is_the_best_of_its_trainings():
    X, y, trusted, _, _ = noisy_digits()
    best = methods.BestBaselineClassifier(**(SHORT | {"random_state": 3})).fit(X, y, trusted=trusted)
    first = methods.BaselineClassifier(**(SHORT | {"random_state": 3})).fit(X, y, trusted=trusted)
    held = best.held_out_
    assert (held == first.held_out_).all()
    assert best.score(X[held], y[held]) >= first.score(X[held], y[held])
