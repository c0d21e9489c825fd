import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from safegain.learners import threads
from safegain.learners.forest import Forest
from safegain.learners.target import Target
from tests.learners.soft_rows import CLASSES, codes, numbers, rows, soft, sure


@pytest.mark.parametrize(
    ("made", "random_splits", "kind", "max_features"),
    [
        (sure, True, ExtraTreeClassifier, "sqrt"),
        (sure, False, DecisionTreeClassifier, "sqrt"),
        (numbers, True, ExtraTreeRegressor, 1.0),
        (numbers, False, DecisionTreeRegressor, 1 / 3),
    ],
)
def test_on_sure_labels_each_tree_is_scikit_learns(made, random_splits, kind, max_features):
    X, target = made(300)
    fresh = rows(300, seed=8)
    found = Forest(n_trees=2, min_samples_leaf=4, random_splits=random_splits).train(X, target, 6).outputs(fresh)
    said = []
    for number in range(2):
        seed = int(np.random.default_rng([6, number]).integers(2**31))
        tree = kind(min_samples_leaf=4, max_features=max_features, random_state=seed)
        if target.classes is None:
            said.append(tree.fit(X.astype(np.float32), target.values).predict(fresh)[:, None])
        else:
            said.append(tree.fit(X.astype(np.float32), codes(X)).predict_proba(fresh))
    assert found == pytest.approx(np.mean(said, axis=0), abs=2e-5, rel=1e-6)


def test_soft_labels_are_learned_beyond_their_likeliest_class():
    X = rows(4000)
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    Q = np.stack([1 - chance, chance], axis=1).astype(np.float32)
    found = Forest(n_trees=60).train(X, Target(Q, CLASSES[:2]), 0).predict_proba(fresh := rows(500, seed=5))
    assert np.abs(found[:, 1] - 1 / (1 + np.exp(-2 * fresh[:, 0]))).mean() < 0.06


def test_predictions_are_classes_or_numbers_of_the_target():
    X, target = sure(800)
    fresh = rows(500, seed=2)
    assert accuracy_score(CLASSES[codes(fresh)], Forest(n_trees=50).train(X, target, 0).predict(fresh)) > 0.9
    X, target = numbers(800)
    _, wanted = numbers(500, seed=2)
    found = Forest(n_trees=50).train(X, target, 0)
    theirs = ExtraTreesRegressor(50, min_samples_leaf=5, random_state=0).fit(X, target.values)
    assert r2_score(wanted.values, found.predict(fresh)) > r2_score(wanted.values, theirs.predict(fresh)) - 0.02
    with pytest.raises(AttributeError):
        found.predict_proba(fresh)


def test_rows_without_weight_are_not_there():
    X, target = sure(400)
    weight = (np.arange(400) % 2).astype(float)
    turned = np.where(weight[:, None] == 0, target.values[:, ::-1], target.values)
    forest = Forest(n_trees=5, bootstrap=True)
    for_all = forest.train(X, Target(turned, CLASSES, weight), 0).outputs(X)
    assert np.array_equal(for_all, forest.train(X[1::2], target.taken(np.arange(1, 400, 2)), 0).outputs(X))


def test_gaps_take_a_side():
    X, drawn = rows(600), np.random.default_rng(1).integers(0, 2, 600)
    X[:, 2] = np.where(drawn == 0, np.nan, 1.0)  # only a gap says which class it is
    model = Forest(n_trees=30, random_splits=False, max_features=1.0).train(X, Target.of_codes(drawn, CLASSES[:2]), 0)
    fresh = rows(300, seed=3)
    fresh[:150, 2] = np.nan
    assert model.predict(fresh).tolist() == ["ant"] * 150 + ["bee"] * 150


def test_of_many_rows_a_tree_sees_some():
    X, target = soft(500)
    for bootstrap in (False, True):
        counts = Forest(n_trees=3, most_rows=100, bootstrap=bootstrap).grow(X, target, 0).counts
        assert counts.sum(axis=1).tolist() == [100] * 3
        assert (counts.max() > 1) == bootstrap


def test_seeds_matter_and_threads_do_not(monkeypatch):
    X, target = soft(300)
    X.flags.writeable = target.values.flags.writeable = False
    one, other = (Forest(n_trees=9).train(X, target, seed).outputs(X) for seed in (0, 1))
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    assert np.array_equal(Forest(n_trees=9).train(X, target, 0).outputs(X), one)
    assert not np.array_equal(one, other)


def test_cost_grows_with_what_is_asked_for():
    cheap = Forest().cost(1000, 10, 2)
    assert 0.1 < cheap < 5
    assert Forest().cost(10_000, 10, 2) > 3 * cheap
    assert Forest(random_splits=False).cost(10_000, 10, 2) > Forest().cost(10_000, 10, 2)


@pytest.mark.parametrize(
    "wrong", [{"n_trees": 0}, {"max_features": "log2"}, {"max_features": 1.5}, {"bootstrap": 1}, {"most_rows": 0}]
)
def test_wrong_settings_are_told(wrong):
    with pytest.raises(ValueError, match=f"Forest: {next(iter(wrong))} must"):
        Forest(**wrong)


@pytest.mark.filterwarnings("error")
def test_rows_hardly_more_than_classes_are_no_reason_to_warn():
    X, codes = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 8
    model = Forest(n_trees=3).train(X, Target.of_codes(codes, np.arange(8)), 0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_draft_has_half_of_the_trees():
    assert [Forest(n_trees=n).draft() for n in (1, 7, 200)] == [Forest(n_trees=n) for n in (1, 4, 100)]
    assert Forest(min_samples_leaf=3).draft().min_samples_leaf == 3
