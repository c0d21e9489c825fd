"""Labels before they were checked, a random sample of the checked rows, and row weights: what a fit makes of them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from safegain import Claims, Free, Linear, Network, PerClass, PGSClassifier, PGSRegressor, Recipe, Structured
from tests.estimators.samples import noisy_diabetes, noisy_digits

QUICK = Network(n_hidden=32, recipe=Recipe(n_steps=100))
MODELS = {"recipe": QUICK, "solver": Linear(), "estimator": LogisticRegression(C=0.01, max_iter=500)}


def checked_digits(n=500, k=4):
    """(X, y as given everywhere, right labels with -1, true y, trusted): labels of trusted rows go wrong too."""
    X, _, true, trusted = noisy_digits(n, k)
    random = np.random.RandomState(1)
    given = np.where(random.rand(len(true)) < 0.4, (true + 1) % k, true)
    return X, given, np.where(trusted, true, -1), true, trusted


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_right_labels_are_trained_on_and_the_given_ones_kept(model):
    X, given, right, true, trusted = checked_digits()
    before = given.copy(), right.copy()
    settings = {"reference": "raw", "random_state": 0}
    fitted = PGSClassifier(model, **settings).fit(X, given, right=right)
    assert fitted.trusted_.tolist() == fitted.sample_.tolist() == trusted.tolist()
    np.testing.assert_array_equal(fitted.corrected_labels_[trusted], true[trusted])
    np.testing.assert_array_equal(fitted.record_.given, given)
    np.testing.assert_array_equal(fitted.record_.labels.given, np.where(trusted, true, given))
    assert not np.isin(fitted.label_issues()["row"], np.flatnonzero(trusted)).any()
    for mine, kept in zip((given, right), before, strict=True):
        np.testing.assert_array_equal(mine, kept)
    # But for the channel it is the fit that knows the trusted labels alone.
    same = PGSClassifier(model, **settings).fit(X, np.where(trusted, true, given), trusted=trusted)
    assert same.record_.labels.before is None
    np.testing.assert_array_equal(fitted.held_out_, same.held_out_)
    for name, reference in same.references_.items():
        np.testing.assert_array_equal(fitted.references_[name].predict(X), reference.predict(X))
    assert not np.array_equal(fitted.label_distribution_, same.label_distribution_)


@pytest.mark.parametrize("search", [Free(n_outer=2), Structured(n_outer=2)], ids=["free", "structured"])
def test_right_labels_in_searches_with_an_outer_loop(search):
    X, given, right, true, trusted = checked_digits(300)
    fitted = PGSClassifier("linear", search=search, random_state=0).fit(X, given, right=right)
    np.testing.assert_array_equal(fitted.corrected_labels_[trusted], true[trusted])
    sample = trusted & (np.arange(300) % 2 == 0)
    some = PGSClassifier("linear", search=search, random_state=0).fit(X, given, right=right, sample=sample)
    np.testing.assert_array_equal(some.corrected_labels_[trusted], true[trusted])
    assert some.trusted_.tolist() == trusted.tolist()
    assert set(some.comparison_["row"]) <= set(np.flatnonzero(sample))
    with pytest.raises(
        ValueError, match=r"^sample: leaves 1 trusted rows to search by, and 'f|^sample: leaves 1 .*'st"
    ):
        PGSClassifier("linear", search=search).fit(X, given, right=right, sample=[0])


def test_right_numbers():
    X, _, true, trusted = noisy_diabetes()
    given = true + np.random.RandomState(0).randn(len(true)) * 150 * (np.arange(len(true)) % 2)
    right = np.where(trusted, true, np.nan)
    fitted = PGSRegressor("linear", random_state=0).fit(X, given, right=right)
    np.testing.assert_array_equal(fitted.corrected_labels_[trusted], true[trusted])
    np.testing.assert_array_equal(fitted.record_.given, given)
    issues = fitted.label_issues()
    assert not np.isin(issues["row"], np.flatnonzero(trusted)).any()
    np.testing.assert_array_equal(issues["given"], given[issues["row"]])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"trusted": np.arange(500) < 9}, "right: names the trusted rows, and so does trusted"),
        ({"right": np.array(["a"] * 500)}, "right: holds text and y holds numbers"),
        ({"right": np.arange(500) % 4}, "right: every row is trusted"),
        ({"right": np.where(np.arange(500) < 1, 1, -1)}, "right: found 1 trusted rows; at least 2 are needed"),
        ({"right": None, "sample": [1]}, "sample: says which trusted rows are a random sample, and no row is trusted"),
        ({"sample_weight": np.ones(3)}, r"sample_weight: needs one number for each of the 500 rows, got shape \(3,\)"),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(more, message):
    X, given, right, *_ = checked_digits()
    with pytest.raises(ValueError, match=f"^{message}"):
        PGSClassifier(QUICK, random_state=0).fit(X, given, **{"right": right, **more})


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("way", ["right", "trusted"])
def test_rows_that_were_chosen_judge_nothing(model, way):
    """Their labels are changed to what they are not: only trainings notice, and no held-out or set-aside row is one."""
    X, given, right, true, trusted = checked_digits(600)
    sample = trusted & (np.arange(len(true)) % 4 > 0)
    said = {"right": right} if way == "right" else {"trusted": trusted}
    y = given if way == "right" else np.where(trusted, true, given)
    estimator = PGSClassifier(model, certificate=Claims(0.1), safeness=PerClass(), random_state=0)
    fitted = estimator.fit(X, y, sample=sample, **said)
    assert fitted.held_out_.sum() >= 20
    assert fitted.set_aside_.sum() >= 20
    assert not (fitted.held_out_ & ~sample).any()
    assert not (fitted.set_aside_ & ~sample).any()
    assert fitted.sample_.tolist() == sample.tolist()
    assert fitted.trusted_.tolist() == trusted.tolist()
    np.testing.assert_array_equal(fitted.corrected_labels_[trusted], true[trusted])


def test_a_sample_that_is_too_small_is_counted_as_such():
    X, given, right, _, trusted = checked_digits()
    sample = np.flatnonzero(trusted)[:7]
    fitted = PGSClassifier(QUICK, random_state=0).fit(X, given, right=right, sample=sample)
    assert fitted.safeness_.status.startswith("Fell back: 7 trusted rows are too few to compare models")
    assert fitted.reference_ == "raw+trusted"
    nobody = PGSClassifier(QUICK, random_state=0).fit(X, given, right=right, sample=[])
    assert nobody.safeness_.fell_back
    with pytest.raises(ValueError, match="certificate: no trusted row is one of a random sample"):
        PGSClassifier(QUICK, certificate=0.05).fit(X, given, right=right, sample=[])


def test_numbers_of_a_sample():
    X, y, _, trusted = noisy_diabetes()
    sample = trusted & (np.arange(len(y)) % 8 == 0)
    for model in ("auto", Ridge()):
        fitted = PGSRegressor(model, random_state=0).fit(X, y, trusted=trusted, sample=sample)
        assert set(fitted.comparison_["row"]) <= set(np.flatnonzero(sample))


@pytest.mark.parametrize("model", [Linear(), LogisticRegression(C=0.01, max_iter=500)], ids=["solver", "estimator"])
def test_row_weights_count_in_references(model):
    """Rows of weight 0 may have any label."""
    X, noisy, _, trusted = noisy_digits(400, k=4)
    weight = np.where(trusted | (np.arange(400) % 5 > 0), 2.0, 0.0)
    other = np.where(weight > 0, noisy, (noisy + 1) % 4)

    def raw(y, w):
        fitted = PGSClassifier(model, reference="raw", random_state=0).fit(X, y, trusted=trusted, sample_weight=w)
        return fitted.references_["raw"].predict_proba(X)

    np.testing.assert_allclose(raw(noisy, weight), raw(other, weight), atol=1e-6)
    plain = raw(noisy, None)
    assert not np.allclose(plain, raw(other, None), atol=1e-3)
    np.testing.assert_allclose(raw(noisy, np.ones(400)), plain, atol=1e-6)


def test_row_weights_count_in_the_contest():
    """The rows on which a model is good are those that count: the other reference is the best."""
    X, y, _, trusted = noisy_diabetes()
    found = [
        PGSRegressor("linear", random_state=0).fit(X, y, trusted=trusted, sample_weight=w).safeness_.sets[0].raw_loss
        for w in (None, np.ones(len(y)), 1 + 9.0 * (np.arange(len(y)) % 8 == 0))
    ]
    assert found[0] == pytest.approx(found[1])
    assert found[0] != pytest.approx(found[2])


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_classes_are_compared_by_weighted_losses(model):
    X, noisy, _, trusted = noisy_digits(400, k=4)
    weight = np.random.RandomState(0).rand(400) + 0.1
    fitted = PGSClassifier(model, random_state=0).fit(X, noisy, trusted=trusted, sample_weight=weight)
    table = fitted.comparison_
    rows = table[table["model"] == fitted.reference_]
    expected = np.average(rows["loss"], weights=weight[rows["row"]])
    assert fitted.safeness_.sets[0].raw_loss == pytest.approx(expected)


@pytest.mark.parametrize("search", [Free(n_outer=2), Structured(n_outer=2)], ids=["free", "structured"])
def test_searches_for_weights_take_none(search):
    X, noisy, _, trusted = noisy_digits(100, k=3)
    message = rf"^sample_weight: '{search.name}' looks for the weights of the rows itself; leave it out, or use search="
    with pytest.raises(ValueError, match=message):
        PGSClassifier("linear", search=search).fit(X, noisy, trusted=trusted, sample_weight=np.ones(100))


def test_an_estimator_without_row_weights_takes_none():
    X, noisy, _, trusted = noisy_digits(100, k=3)
    with pytest.raises(ValueError, match=r"^sample_weight: the fit of your estimator takes no sample_weight"):
        PGSClassifier(KNeighborsClassifier()).fit(X, noisy, trusted=trusted, sample_weight=np.ones(100))
