"""The usual models, cleanlab around them, and the bound."""

from types import SimpleNamespace

import numpy as np
import pytest
from experiments.methods import all_true, baseline, cleanlab_around, cross_validated, trusted_only, usual
from experiments.methods.best_usual import AMONG
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

from tests.problems import numpy_state


@pytest.fixture(scope="module")
def problem():
    """Three clouds; 40% of the weak labels go to the next class, and 40 trusted rows come last."""
    random = np.random.default_rng(0)
    true = np.arange(600) % 3
    X = random.normal(size=(600, 4)) + 2.0 * np.eye(3, 4)[true]
    trusted = np.arange(600) >= 360
    test = np.arange(600) >= 400
    trusted &= ~test
    wrong = (random.random(600) < 0.4) & ~trusted
    y = np.where(wrong, (true + 1) % 3, true)
    kept = ~test
    return SimpleNamespace(
        X=X[kept], y=y[kept], true=true[kept], trusted=trusted[kept], X_test=X[test], y_test=true[test]
    )


@pytest.mark.parametrize("family", usual.FAMILIES)
def test_every_family_is_measured_on_raw_labels_and_on_trusted_rows(problem, family):
    found = usual.measure(problem, 0, quick=True, family=family)
    for on in usual.ON:
        assert 40 < found[f"{on}_accuracy"] <= 100
        assert (f"{on}_log_loss" in found) == (family != "svc")


def test_boosting_takes_scikit_learns_steps_but_for_a_rehearsal():
    usually = HistGradientBoostingClassifier().max_iter
    steps = [usual.boosting(0, n, 100).max_iter for n in (usual.N_TREES, cross_validated.N_TREES, usual.N_TREES_QUICK)]
    assert steps == [usually, usually, usual.N_TREES_QUICK]


def test_the_best_usual_model_is_one_of_every_family_on_both_kinds_of_labels(problem):
    names = {entry.name for entry in AMONG}
    assert names == {f"{name}, {words}" for name in usual.FAMILIES.values() for words in usual.ON.values()}
    assert len(AMONG) == 16
    for on, method in (("raw", baseline), ("trusted", trusted_only)):  # its networks are runs that tables have anyway
        (entry,) = (entry for entry in AMONG if entry.name == f"Network, {usual.ON[on]}")
        assert entry.method == method.__name__.rpartition(".")[2]
        model = usual.fitted("network", on, problem.X, problem.y, problem.trusted, seed=3, n_trees=1, quick=True)
        assert repr(model) == repr(method.estimator(3, quick=True))


def test_trusted_rows_alone_are_what_the_second_model_sees(problem):
    model = usual.fitted("logistic", "trusted", problem.X, problem.y, problem.trusted, seed=0, n_trees=10, quick=True)
    assert model[0].n_samples_seen_ == problem.trusted.sum() == 40
    model = usual.fitted("logistic", "raw", problem.X, problem.y, problem.trusted, seed=0, n_trees=10, quick=True)
    assert model[0].n_samples_seen_ == 400


def test_cross_validation_is_scikit_learns_where_there_are_no_weak_rows(problem):
    rows = problem.trusted
    alone = SimpleNamespace(X=problem.X[rows], y=problem.y[rows], trusted=np.ones(40, dtype=bool))
    mine = cross_validated.cross_validated("logistic", "trusted", alone, 0)
    theirs = 100 * cross_val_score(usual.logistic(0, 1, 32), alone.X, alone.y, cv=5).mean()
    assert mine == pytest.approx(theirs, abs=7.6)  # other folds: three of forty rows
    assert cross_validated.cross_validated("logistic", "raw", alone, 0) == mine


def test_cross_validation_never_trains_on_the_fold_that_it_scores(problem, monkeypatch):
    seen = []

    def remember(family, on, X, y, trusted, **settings):
        seen.append((len(y), trusted.sum()))
        return SimpleNamespace(predict=lambda rows: np.zeros(len(rows)))

    monkeypatch.setattr(cross_validated, "fitted", remember)
    cross_validated.cross_validated("forest", "raw", problem, 0)
    assert seen == [(392, 32)] * 5


def test_cleanlab_leaves_out_wrong_labels_and_no_trusted_row(problem):
    pytest.importorskip("cleanlab")
    before = numpy_state()
    plain = usual.measure(problem, 0, quick=True, family="forest")["raw_accuracy"]
    found = cleanlab_around.measure(problem, 0, quick=True, family="forest")
    assert 60 < found["issues"] < 250  # some 144 of 360 are wrong
    assert found["accuracy"] > plain
    assert numpy_state() == before


def test_true_labels_are_a_bound(problem):
    plain = usual.measure(problem, 0, quick=True, family="boosting")["raw_accuracy"]
    assert all_true.measure(problem, 0, quick=True, family="boosting")["accuracy"] > plain + 5
