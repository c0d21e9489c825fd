import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, r2_score

from safegain.learners import boosting
from safegain.learners.boosting import Boosting
from safegain.learners.target import Target
from tests.learners.soft_rows import CLASSES, codes, numbers, rows, soft, sure

FEW = 150  # rows of which none are kept to stop on


@pytest.mark.parametrize("k", [2, 3])
def test_on_sure_labels_it_is_scikit_learns(k):
    X = rows(FEW).astype(np.float32)
    y = codes(X) % k
    settings = {"max_iter": 12, "learning_rate": 0.2, "max_leaf_nodes": 7, "min_samples_leaf": 5}
    found = Boosting(**settings, l2=0.5).train(X, Target.of_codes(y, CLASSES[:k]), 0)
    oracle = HistGradientBoostingClassifier(**settings, l2_regularization=0.5, early_stopping=False).fit(X, y)
    fresh = rows(400, seed=3).astype(np.float32)
    assert found.predict_proba(fresh) == pytest.approx(oracle.predict_proba(fresh), abs=1e-5)
    assert found.predict(fresh).tolist() == CLASSES[oracle.predict(fresh)].tolist()


def test_with_weights_gaps_and_names_it_is_scikit_learns_too():
    X, random = rows(FEW).astype(np.float32), np.random.default_rng(2)
    y, weight = codes(X), random.random(FEW)
    X[:, 0], X[random.random(FEW) < 0.3, 1] = random.integers(0, 6, FEW), np.nan
    y = np.where((X[:, 0] % 3 == 1) & (random.random(FEW) < 0.9), 2, y)
    found = Boosting(max_iter=8, min_samples_leaf=3, categorical=(0,))
    model = found.train(X, Target(np.eye(3, dtype=np.float32)[y], CLASSES, weight), 0)
    oracle = HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, categorical_features=[0])
    fresh = rows(400, seed=3).astype(np.float32)
    fresh[:, 0], fresh[::3, 1], fresh[::5, 0] = random.integers(0, 6, 400), np.nan, np.nan
    wanted = oracle.fit(X, y, sample_weight=weight).predict_proba(fresh)
    assert model.predict_proba(fresh) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(("loss", "theirs"), [("squared", "squared_error"), ("absolute", "absolute_error")])
def test_on_numbers_it_is_scikit_learns(loss, theirs):
    X, target = numbers(FEW, weighted=True)
    X = X.astype(np.float32)
    found = Boosting(max_iter=20, loss=loss).train(X, target, 0)
    oracle = HistGradientBoostingRegressor(max_iter=20, loss=theirs, early_stopping=False)
    oracle.fit(X, target.values, sample_weight=target.weights)
    fresh = rows(400, seed=3).astype(np.float32)
    assert found.predict(fresh) == pytest.approx(oracle.predict(fresh), rel=1e-5)


def test_it_stops_where_the_stopping_rows_say_and_keeps_the_best_step():
    X, target = numbers(2000)
    noise = np.random.default_rng(9).standard_normal(2000) * 30
    noisy = Target(target.values + noise, None)
    found = Boosting().train(X, noisy, 0)
    never = Boosting(max_iter=100, patience=100).train(X, noisy, 0)
    assert len(found.column) == len(never.column) < 60  # of all the steps the same one was best
    fresh, wanted = numbers(1000, seed=4)
    assert r2_score(wanted.values, found.predict(fresh)) > 0.3


def test_probabilities_are_those_of_soft_labels():
    X = rows(4000)
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    Q = np.stack([1 - chance, chance], axis=1).astype(np.float32)
    found = Boosting().train(X, Target(Q, CLASSES[:2]), 0).predict_proba(fresh := rows(500, seed=5))
    assert np.abs(found[:, 1] - 1 / (1 + np.exp(-2 * fresh[:, 0]))).mean() < 0.04


def test_gaps_and_names_are_taken_as_such():
    random = np.random.default_rng(0)
    name = random.integers(0, 40, 3000)
    odd = np.isin(name, random.permutation(40)[:20])  # no order of the names tells
    X = np.stack([random.standard_normal(3000), 100 - 2.5 * name, random.standard_normal(3000)], axis=1)
    X[random.random(3000) < 0.1, 1] = np.nan
    target = Target.of_codes(odd.astype(int), CLASSES[:2])
    model = Boosting(categorical=(1,), max_iter=3, learning_rate=1.0, max_leaf_nodes=3).train(X, target, 0)
    plain = Boosting(max_iter=3, learning_rate=1.0, max_leaf_nodes=3).train(X, target, 0)
    there = ~np.isnan(X[:, 1])
    assert accuracy_score(CLASSES[odd.astype(int)][there], model.predict(X[there])) == 1
    assert accuracy_score(CLASSES[odd.astype(int)][there], plain.predict(X[there])) < 0.9
    X[:, 1] = 12345.0  # unknown
    assert np.isfinite(model.predict_proba(X)).all()


def test_classes_without_rows_have_no_probability():
    X, target = sure(600)
    two = target.values.copy()
    two[two[:, 1] > 0] = [1, 0, 0]
    P = Boosting().train(X, Target(two, CLASSES), 0).predict_proba(X)
    assert P[:, 1].max() == 0
    assert accuracy_score(two.argmax(axis=1), P.argmax(axis=1)) > 0.95
    one = Target.of_codes(np.full(600, 2), CLASSES)
    assert (Boosting().train(X, one, 0).predict_proba(X) == [0, 0, 1]).all()


def test_a_class_of_the_stopping_rows_alone_is_left_out():
    X = rows(300)
    for seed in range(5):
        lone = np.where(np.arange(300) == 7, 1, 2 * (X[:, 0] > 0))
        assert np.isfinite(Boosting().train(X, Target.of_codes(lone, CLASSES), seed).predict_proba(X)).all()


def test_rows_without_weight_are_not_there():
    X, target = sure(400)
    weight = (np.arange(400) % 2).astype(float)
    turned = np.where(weight[:, None] == 0, target.values[:, ::-1], target.values)
    found = Boosting().train(X, Target(turned, CLASSES, weight), 0)
    assert accuracy_score(target.values[1::2].argmax(axis=1), found.predict_proba(X[1::2]).argmax(axis=1)) > 0.95


def test_the_seed_decides_and_rows_stay_as_they_were():
    X, target = soft(500)
    X.flags.writeable = target.values.flags.writeable = False
    one, same, other = (Boosting().train(X, target, seed).outputs(X) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_cost_grows_with_what_is_asked_for():
    assert 0 < Boosting().cost(1000, 10, 2) < Boosting().cost(100_000, 10, 2) < Boosting().cost(100_000, 10, 10)


@pytest.mark.parametrize(
    "wrong", [{"max_iter": 0}, {"learning_rate": 0}, {"l2": -1}, {"loss": "log"}, {"categorical": [1]}, {"patience": 0}]
)
def test_wrong_settings_are_told(wrong):
    with pytest.raises(ValueError, match=f"Boosting: {next(iter(wrong))} must"):
        Boosting(**wrong)


def test_a_column_that_is_not_there_is_told():
    X, target = soft(50)
    with pytest.raises(ValueError, match="column 4, and X has 4"):
        Boosting(categorical=(4,)).train(X, target, 0)


@pytest.mark.filterwarnings("error")
def test_rows_hardly_more_than_classes_are_no_reason_to_warn():
    X, codes = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 8
    model = Boosting(max_iter=3).train(X, Target.of_codes(codes, np.arange(8)), 0)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_many_rows_draw_a_class_each(monkeypatch):
    seen = []
    fit = HistGradientBoostingClassifier.fit

    def watched(self, X, y, **more):
        seen.append(y)
        return fit(self, X, y, **more)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", watched)
    X = np.random.default_rng(0).random((1000, 2))
    target = Target(np.tile(np.float32([0.7, 0.3]), (1000, 1)), np.arange(2))
    Boosting(max_iter=3).train(X, target, 0)
    monkeypatch.setattr(boosting, "MANY", 500)
    Boosting(max_iter=3).train(X, target, 0)
    assert [len(y) for y in seen] == [1800, 900]  # a tenth says when to stop
    assert abs(seen[1].mean() - 0.3) < 0.05


@pytest.mark.parametrize(("n", "settings"), [(2000, {}), (100, {}), (2000, {"max_iter": 20})])
def test_a_draft_takes_longer_steps_and_fewer_of_them(n, settings):
    """However the steps end: by the stopping rows, by their count where these are too few, or by the user's."""
    X, target = sure(n)
    whole, draft = Boosting(**settings), Boosting(**settings).draft()
    assert draft.learning_rate == 2 * whole.learning_rate
    steps = [len(each.train(X, target, 0).column) for each in (whole, draft)]
    assert steps[1] < 0.7 * steps[0]


def test_long_steps_are_a_draft_already():
    steps = Boosting(learning_rate=0.5)
    assert steps.draft() is steps
