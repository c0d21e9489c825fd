"""SafeRefit: an estimator that the user brings, on corrected labels, against what it would have been."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from safegain.certificates.claims import Certify
from safegain.estimators.saferefit import SafeRefit
from safegain.search import refitting
from safegain.search.corrections import ClassHead, CorrectedClasses, CorrectedNumbers
from safegain.search.refitting import seeded, weight_parameter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FOREST = RandomForestClassifier(20)
SOFTMAX = LogisticRegression(max_iter=60)


@parametrize_with_checks(
    [
        SafeRefit(LogisticRegression(), random_state=0),
        SafeRefit(Ridge(), random_state=0),
        SafeRefit(DecisionTreeClassifier(), random_state=0),
        SafeRefit(DecisionTreeRegressor(), random_state=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    """X, noisy labels, true labels, trusted rows; then test rows."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    X, y = X[order] / 16, y[order]
    trusted = np.arange(900) < 200
    noisy = np.where(trusted | (rng.random(900) < 0.55), y[:900], rng.integers(0, 10, 900))
    return X[:900], noisy, y[:900], trusted, X[900:], y[900:]


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.RandomState(0)
    X = rng.randn(900, 4)
    y = X @ [1, -2, 0.5, 3] + 0.1 * rng.randn(900)
    trusted = np.arange(600) < 150
    noisy = np.where(trusted, y[:600], y[:600] + np.where(rng.rand(600) < 0.4, 8 * rng.randn(600), 0))
    return X[:600], noisy, y[:600], trusted, X[600:], y[600:]


@pytest.mark.parametrize("estimator", [FOREST, SOFTMAX], ids=["forest", "softmax"])
def test_gains_on_rows_it_never_saw(estimator, digits):
    X, noisy, y, trusted, Xt, yt = digits
    fitted = SafeRefit(estimator, random_state=0).fit(X, noisy, trusted=trusted)
    alternatives = [np.ones_like(trusted), ~trusted, trusted]
    plain = max(clone(fitted.estimator_).fit(X[rows], noisy[rows]).score(Xt, yt) for rows in alternatives)
    assert fitted.score(Xt, yt) > plain + 0.02
    assert not fitted.safeness_.fell_back
    assert "not a certificate" in fitted.safeness_.status
    weak = ~trusted
    assert (fitted.corrected_labels_ == y)[weak].mean() > (noisy == y)[weak].mean() + 0.25
    np.testing.assert_array_equal(fitted.label_distribution_[trusted], np.eye(10)[y[trusted]])
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, rtol=1e-5)
    issues = fitted.label_issues()
    assert list(issues.columns) == ["row", "given", "suggested", "confidence", "weight"]
    assert (noisy != y)[issues["row"].head(50)].mean() > 0.9
    assert not trusted[issues["row"]].any()


def test_refit_and_reference_are_what_the_user_can_fit_herself(digits):
    X, noisy, _, trusted, Xt, _ = digits
    fitted = SafeRefit(SOFTMAX, reference="raw+trusted", random_state=0).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(
        fitted.reference_estimator_.predict_proba(Xt), clone(SOFTMAX).fit(X, noisy).predict_proba(Xt)
    )
    correction = CorrectedClasses(fitted.sample_weight_, fitted.label_distribution_, fitted.classes_)
    part = correction.training_set(np.arange(len(noisy)), weighted=True)
    own = clone(SOFTMAX).fit(X[part.rows], part.labels, sample_weight=part.weights)
    np.testing.assert_array_equal(fitted.predict_proba(Xt), own.predict_proba(Xt))


def test_a_row_is_repeated_for_its_likely_classes():
    Q = np.array([[0, 1, 0, 0], [0.5, 0.3, 0.16, 0.04], [0.25, 0.25, 0.25, 0.25], [0.02, 0.02, 0.04, 0.92]])
    correction = CorrectedClasses(np.array([1, 1, 0.5, 1]), Q, np.array(["a", "b", "c", "d"]))
    part = correction.training_set(np.arange(4), weighted=True)
    assert part.rows.tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    assert part.labels.tolist() == [*"b", *"abc", *"abc", *"d"]
    np.testing.assert_allclose(part.weights, [1, 0.5 / 0.96, 0.3 / 0.96, 0.16 / 0.96, 0.5 / 3, 0.5 / 3, 0.5 / 3, 1])
    part = correction.training_set(np.array([3, 2, 1]), weighted=False)
    assert (part.rows.tolist(), part.labels.tolist(), part.weights) == ([3, 1], ["d", "a"], None)


def test_corrected_numbers_without_weights_lose_the_doubted_rows():
    weight, trusted = np.array([1, 0.4, 0.21, 0.19, 0]), np.arange(5) < 1
    correction = CorrectedNumbers(weight, np.zeros(5), np.arange(5.0), trusted)
    assert correction.training_set(np.arange(5), weighted=False).rows.tolist() == [0, 1, 2]
    part = correction.training_set(np.arange(5), weighted=True)
    assert (part.rows.tolist(), part.weights.tolist()) == ([0, 1, 2, 3], [1, 0.4, 0.21, 0.19])


def test_clean_labels_lose_nothing(digits):
    X, _, y, trusted, Xt, yt = digits
    fitted = SafeRefit(SOFTMAX, random_state=0).fit(X, y, trusted=trusted)
    assert fitted.score(Xt, yt) > clone(SOFTMAX).fit(X, y).score(Xt, yt) - 0.01
    assert (fitted.corrected_labels_ == y).mean() > 0.98


class Misleading(ClassHead):
    """Says of every weak row that it is the next class."""

    def without_held_rows(self):
        found = super().without_held_rows()
        Q = np.where(self.known.trusted[:, None], found.Q, np.roll(found.Q, 1, axis=1))
        return CorrectedClasses(found.weight, Q, found.classes)


@pytest.mark.parametrize("reference", ["raw", "raw+trusted", "trusted"])
def test_falls_back_to_the_reference_if_trusted_rows_say_so(reference, digits, monkeypatch):
    X, noisy, _, trusted, Xt, _ = digits
    monkeypatch.setattr(refitting, "ClassHead", Misleading)
    fitted = SafeRefit(SOFTMAX, reference=reference, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.safeness_.fell_back
    assert fitted.safeness_.status.startswith("Fell back")
    assert fitted.estimator_ is fitted.reference_estimator_
    assert fitted.reference_ == reference
    rows = {"raw": ~trusted, "raw+trusted": np.ones_like(trusted), "trusted": trusted}[reference]
    np.testing.assert_array_equal(fitted.predict(Xt), clone(SOFTMAX).fit(X[rows], noisy[rows]).predict(Xt))
    np.testing.assert_array_equal(fitted.corrected_labels_, noisy)
    assert fitted.label_issues().empty


def test_few_trusted_rows_fall_back():
    X, y = load_digits(return_X_y=True)
    fitted = SafeRefit(SOFTMAX, random_state=0).fit(X[:100], y[:100], trusted=range(30))
    assert fitted.reference_ == "raw+trusted"
    assert "too few" in str(fitted.safeness_)


def test_certificate_in_the_fit(digits):
    X, noisy, _, trusted, Xt, yt = digits
    passed = SafeRefit(SOFTMAX, reference="trusted", certify=0.2, random_state=0).fit(X, noisy, trusted=trusted)
    assert passed.certificate_.certified
    assert passed.certificate_.n == passed.set_aside_.sum() > 0
    assert not (passed.set_aside_ & passed.held_out_).any()
    assert passed.certify(Xt, yt, delta=0.1).n == len(yt)
    refused = SafeRefit(SOFTMAX, certify=Certify(1e-9, size=100), random_state=0).fit(X, noisy, trusted=trusted)
    assert not refused.certificate_.certified
    assert refused.estimator_ is refused.reference_estimator_
    assert refused.safeness_.fell_back
    assert refused.certificate_.sentence in refused.safeness_.status
    # Neither rows nor labels that are set aside have a part in the models.
    changed = X.copy()
    changed[passed.set_aside_] = 0.5
    again = SafeRefit(SOFTMAX, reference="trusted", certify=0.2, random_state=0).fit(changed, noisy, trusted=trusted)
    np.testing.assert_array_equal(again.reference_estimator_.coef_, passed.reference_estimator_.coef_)
    assert [each.raw_loss for each in again.safeness_.sets] == [each.raw_loss for each in passed.safeness_.sets]


def test_certify_is_a_parameter_and_a_method():
    model = SafeRefit(FOREST, certify=0.05)
    assert model.get_params()["certify"] == clone(model).get_params()["certify"] == 0.05
    assert model.set_params(certify=None, estimator__n_estimators=3).get_params()["certify"] is None
    assert model.estimator.n_estimators == 3
    model.estimator.set_params(n_estimators=20)
    assert callable(model.certify)


def mails(n=400):
    """A data frame with text, a category and a number with gaps; its index does not count from 0."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    words = np.array([["meeting", "report", "lunch", "paper"], ["prize", "cash", "winner", "click"]])
    text = [" ".join(rng.choice(words[c], 3).tolist() + rng.choice(words.ravel(), 2).tolist()) for c in y]
    frame = pd.DataFrame(
        {
            "text": text,
            "sender": pd.Categorical(np.where(rng.random(n) < 0.7, np.array(["known", "new"])[y], "other")),
            "size": np.where(rng.random(n) < 0.1, np.nan, y + rng.normal(size=n)),
        },
        index=np.arange(n) + 1000,
    )
    true = np.array(["ham", "spam"])[y]
    trusted = np.arange(n) < 100
    flipped = ~trusted & (rng.random(n) < 0.3)
    return frame, np.where(flipped, np.array(["spam", "ham"])[y], true), true, trusted


@pytest.mark.parametrize("routing", [False, True])
def test_frames_with_text_and_categories_reach_a_pipeline_as_they_are(routing):
    frame, noisy, true, trusted = mails()
    columns = make_column_transformer(
        (TfidfVectorizer(), "text"), (OneHotEncoder(), ["sender"]), (StandardScaler(), ["size"])
    )
    pipeline = make_pipeline(columns, HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5))
    dense = clone(pipeline).set_params(columntransformer__sparse_threshold=0)
    kept = frame.copy(deep=True)
    with sklearn.config_context(enable_metadata_routing=routing):
        fitted = SafeRefit(dense, random_state=0).fit(frame, noisy, trusted=trusted)
    pd.testing.assert_frame_equal(frame, kept)
    assert set(fitted.predict(frame)) == {"ham", "spam"}
    assert fitted.feature_names_in_.tolist() == ["text", "sender", "size"]
    assert (fitted.corrected_labels_ == true).mean() > (noisy == true).mean() + 0.1
    with pytest.raises(ValueError, match="pass features="):
        SafeRefit(FOREST, random_state=0).fit(frame, noisy, trusted=trusted)
    numbers = FunctionTransformer(lambda rows: rows[["size"]])
    for features in (numbers, lambda rows: rows[["size"]]):
        SafeRefit(dense, features=features, random_state=0).fit(frame, noisy, trusted=trusted)


def test_estimators_without_weights_or_probabilities(digits):
    X, noisy, _, trusted, Xt, yt = digits
    neighbours = KNeighborsClassifier()
    assert weight_parameter(neighbours) is weight_parameter(make_pipeline(StandardScaler(), neighbours)) is None
    assert weight_parameter(make_pipeline(StandardScaler(), SOFTMAX)) == "logisticregression__sample_weight"
    fitted = SafeRefit(neighbours, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.score(Xt, yt) > fitted.reference_estimator_.score(Xt, yt) + 0.01
    vectors = SafeRefit(LinearSVC(), random_state=0).fit(X, noisy, trusted=trusted)
    assert not hasattr(vectors, "predict_proba")
    assert "share of mistakes" in vectors.safeness_.status
    assert vectors.score(Xt, yt) > vectors.reference_estimator_.score(Xt, yt)


@pytest.mark.parametrize("estimator", [DecisionTreeRegressor(min_samples_leaf=5), KNeighborsRegressor()], ids=str)
def test_numbers_gain_and_fall_back(estimator, numbers):
    X, noisy, y, trusted, Xt, yt = numbers
    fitted = SafeRefit(estimator, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.score(Xt, yt) > fitted.reference_estimator_.score(Xt, yt) + 0.02
    assert "mean squared error" in fitted.safeness_.status
    wrong = np.abs(noisy - y) > 1
    assert fitted.sample_weight_[wrong].mean() < fitted.sample_weight_[~wrong].mean() / 2
    np.testing.assert_allclose(noisy + fitted.label_shift_, fitted.corrected_labels_)
    assert set(fitted.label_issues()["row"]) <= set(np.flatnonzero(~trusted))
    clean = SafeRefit(estimator, certify=0.05, random_state=0).fit(X, y, trusted=trusted)
    assert clean.safeness_.fell_back
    assert clean.certificate_.entries[0].measure == "squared_error"
    assert fitted.certify(Xt, yt).n == len(yt)


def test_rows_without_labels_are_used(digits):
    X, _, y, trusted, Xt, yt = digits
    bare = ~trusted & (np.arange(len(y)) % 4 != 1)
    fitted = SafeRefit(SOFTMAX, random_state=0).fit(X, np.where(bare, -1, y), trusted=trusted)
    assert (fitted.corrected_labels_[bare] == y[bare]).mean() > 0.9
    assert not bare[fitted.label_issues()["row"]].any()
    named = np.array([f"digit {label}" for label in y], dtype=object)
    named[bare] = None
    few = SafeRefit(SOFTMAX, random_state=0).fit(X, named, trusted=np.flatnonzero(trusted)[:30])
    assert few.safeness_.fell_back
    assert few.predict(Xt[:5]).tolist() == [f"digit {label}" for label in yt[:5]]
    assert (few.corrected_labels_[~bare] == named[~bare]).all()
    assert (few.sample_weight_ == ~bare).all()


def test_one_seed_one_model_and_nothing_of_the_users_is_changed(digits):
    X, noisy, _, trusted, Xt, _ = digits
    parts = [part[:450].copy() for part in (X, noisy, trusted)]
    for part in parts:
        part.setflags(write=False)
    estimator = ExtraTreesClassifier(5)
    first, second = (SafeRefit(estimator, random_state=3).fit(*parts) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(Xt), second.predict_proba(Xt))
    assert estimator.random_state is None
    assert not hasattr(estimator, "classes_")
    assert seeded(ExtraTreesClassifier(5, random_state=9), np.random.RandomState(0)).random_state == 9


def test_sparse_rows_and_gaps(digits):
    X, noisy, trusted = digits[0][:500], digits[1][:500], digits[3][:500]
    sparse = SafeRefit(SOFTMAX, random_state=0).fit(scipy.sparse.coo_array(X), noisy, trusted=trusted)
    assert not sparse.safeness_.fell_back
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    fitted = SafeRefit(DecisionTreeClassifier(min_samples_leaf=5), random_state=0).fit(gaps, noisy, trusted=trusted)
    assert not fitted.safeness_.fell_back


def test_trusted_rows_of_some_classes(digits):
    X, noisy, y, trusted, Xt, _ = digits
    few = trusted & (y < 5)
    fitted = SafeRefit(SOFTMAX, reference="trusted", random_state=0).fit(X, noisy, trusted=few)
    assert fitted.predict_proba(Xt).shape == (len(Xt), 10)
    one = ~trusted | (y == 3)
    X, noisy, trusted = (np.concatenate([part[one], part[trusted & (y == 3)]]) for part in (X, noisy, trusted))
    X, noisy, trusted = (np.concatenate([part, part[trusted]]) for part in (X, noisy, trusted))
    assert SafeRefit(SOFTMAX, random_state=0).fit(X, noisy, trusted=trusted).reference_ in ("raw", "raw+trusted")
    with pytest.raises(ValueError, match="reference: the trusted rows are of one class"):
        SafeRefit(SOFTMAX, reference="trusted", random_state=0).fit(X, noisy, trusted=trusted)


def test_trusted_rows_are_routed(digits):
    X, noisy, _, trusted, _, _ = digits
    with sklearn.config_context(enable_metadata_routing=True):
        model = SafeRefit(KNeighborsClassifier(), random_state=0).set_fit_request(trusted=True)
        found = cross_validate(
            model,
            X,
            noisy,
            cv=KFold(2, shuffle=True, random_state=0),
            params={"trusted": trusted},
            return_estimator=True,
        )
    assert sum(each.trusted_.sum() for each in found["estimator"]) == trusted.sum()


def test_is_what_its_estimator_is():
    assert is_classifier(SafeRefit(SOFTMAX))
    assert is_regressor(SafeRefit(make_pipeline(StandardScaler(), Ridge())))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": KMeans(2)}, "estimator: must be a classifier or a regressor"),
        ({"reference": "weak"}, "reference"),
        ({"certify": Certify(per_group=True)}, "certify: per_group=True needs the group"),
        ({"features": lambda X: X[:10]}, "features: gave 10 rows for the 900 rows"),
    ],
)
def test_what_is_wrong_is_named(arguments, message, digits):
    X, noisy, _, trusted, _, _ = digits
    model = SafeRefit(**{"estimator": SOFTMAX, "random_state": 0, **arguments})
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy, trusted=trusted)
    assert model.__dict__ == before
