"""Safegain that is told what it has to find out."""

from types import SimpleNamespace

import numpy as np
import pytest
from experiments.methods import safegain_default
from experiments.methods.safegain_told import _all_candidates, _told_matrix, counted_matrix, measure

from safegain.evidence import pooled
from safegain.search import contest_road

pytestmark = pytest.mark.usefixtures("quick_evidence")


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(0)
    true = np.arange(300) % 2
    X = random.normal(size=(300, 3)) + 1.2 * true[:, None]
    trusted = np.arange(300) >= 250
    y = np.where((random.random(300) < 0.4) & ~trusted, 1 - true, true)
    X_test = random.normal(size=(500, 3)) + 1.2 * (np.arange(500) % 2)[:, None]
    return SimpleNamespace(X=X, y=y, true=true, trusted=trusted, X_test=X_test, y_test=np.arange(500) % 2, given=y)


@pytest.fixture(autouse=True)
def _two_learners(monkeypatch):
    from safegain import Forest, Linear, PGSClassifier

    few = [Forest(n_trees=10), Linear(alpha=1e-3)]
    monkeypatch.setattr("safegain.PGSClassifier", lambda **settings: PGSClassifier(few, **settings))


def test_a_matrix_is_counted_in_weak_rows():
    true, given = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 0])
    found = counted_matrix(true, given, np.array([True] * 5 + [False]))
    np.testing.assert_allclose(found, [[3.5 / 5, 1.5 / 5], [0.5 / 2, 1.5 / 2]])


def test_the_matrix_that_was_told_is_kept(problem, monkeypatch):
    matrix, seen = np.array([[0.9, 0.1], [0.3, 0.7]]), []
    make = pooled.Evidence
    monkeypatch.setattr(pooled, "Evidence", lambda *parts: seen.append(parts[1].T.numpy()) or make(*parts))
    with _told_matrix(matrix):
        safegain_default.measure(problem, 0, quick=True)
    assert len(seen) == 4  # three folds and the last
    for T in seen:
        np.testing.assert_allclose(T, matrix, rtol=1e-6)


def test_all_candidates_are_trained_on_all_rows(problem):
    from safegain import PGSClassifier

    with _all_candidates() as trained:
        model = PGSClassifier(random_state=0).fit(problem.X, problem.y, trusted=problem.trusted)
    assert len(trained) == len(model.leaderboard_) > contest_road.FINALISTS


@pytest.mark.parametrize("told", ["labels", "matrix", "choice"])
def test_who_is_told_is_not_worse(problem, told):
    plain = safegain_default.measure(problem, 0, quick=True)["accuracy"]
    found = measure(problem, 0, quick=True, told=told)["accuracy"]
    assert found >= plain - (1.0 if told == "matrix" else 0.0)
    assert found > 80
