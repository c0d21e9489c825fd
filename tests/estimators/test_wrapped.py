"""An estimator that the user brings, on corrected labels, against what it would have been."""

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

from safegain import Claims, PerClass, PerView, PGSClassifier, PGSRegressor, Wrapped
from safegain.data.checkpoint import Checkpoint, CheckpointError
from safegain.evidence.pooled import TRUST
from safegain.learners.training_set import from_distributions
from safegain.search import class_task
from tests.search.samples import misled

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FOREST = RandomForestClassifier(20)
SOFTMAX = LogisticRegression(max_iter=60)


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
    fitted = PGSClassifier(estimator, random_state=0).fit(X, noisy, trusted=trusted)
    alternatives = [np.ones_like(trusted), ~trusted, trusted]
    plain = max(
        clone(fitted.reference_model_.estimator).fit(X[rows], noisy[rows]).score(Xt, yt) for rows in alternatives
    )
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
    fitted = PGSClassifier(SOFTMAX, reference="raw+trusted", random_state=0).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(
        fitted.reference_model_.estimator.predict_proba(Xt), clone(SOFTMAX).fit(X, noisy).predict_proba(Xt)
    )
    part = from_distributions(np.arange(len(noisy)), fitted.label_distribution_, fitted.classes_, weighted=True)
    weights = part.weights * np.where(trusted[part.rows], TRUST, 1)
    own = clone(SOFTMAX).fit(X[part.rows], part.labels, sample_weight=weights)
    (member,) = (each for each in fitted.model_.members if each.estimator.coef_.tolist() == own.coef_.tolist())
    np.testing.assert_array_equal(member.predict_proba(Xt), own.predict_proba(Xt))


@pytest.mark.parametrize("reference", ["raw", "raw+trusted", "trusted"])
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_a_reference_is_what_the_user_would_have_had(reference, kind, digits):
    """To the bit: the estimator on the rows of X, in their order; trusted and weak rows are mixed here."""
    X, noisy, _, trusted, _, _ = digits
    order = np.random.RandomState(0).permutation(len(noisy))[:500]
    X, names, trusted = X[order], np.array([f"digit {label}" for label in noisy[order]]), trusted[order]
    rows = pd.DataFrame(X, index=np.arange(len(X)) + 1000) if kind == "frame" else X
    bare = ~trusted & (np.arange(len(names)) % 5 == 0)
    settings = {"reference": reference, "certificate": Claims(size=30), "random_state": 0}
    fitted = PGSClassifier(SOFTMAX, **settings).fit(rows, np.where(bare, None, names), trusted=trusted)
    assert 25 <= fitted.set_aside_.sum() <= 35
    mask = {"raw": ~trusted, "raw+trusted": np.ones_like(trusted), "trusted": trusted}[reference]
    mask = mask & ~bare & ~fitted.set_aside_  # who has no label, or is for the certificate, is in no reference
    own = clone(SOFTMAX).set_params(random_state=fitted.reference_model_.estimator.random_state)
    own.fit(rows[mask], names[mask])
    np.testing.assert_array_equal(fitted.reference_model_.estimator.coef_, own.coef_)
    np.testing.assert_array_equal(fitted.reference_model_.predict(rows), own.predict(rows))


def test_a_seed_is_the_same_for_all_trainings(digits):
    X, noisy, _, trusted, _, _ = digits
    fitted = PGSClassifier(FOREST, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    seeds = {each.estimator.random_state for each in (*fitted.model_.members, fitted.reference_model_)}
    assert len(seeds) == 1
    assert isinstance(seeds.pop(), int)


def test_clean_labels_lose_nothing(digits):
    X, _, y, trusted, Xt, yt = digits
    fitted = PGSClassifier(SOFTMAX, random_state=0).fit(X, y, trusted=trusted)
    assert fitted.score(Xt, yt) > clone(SOFTMAX).fit(X, y).score(Xt, yt) - 0.01
    assert (fitted.corrected_labels_ == y).mean() > 0.98


@pytest.mark.parametrize("reference", ["raw", "raw+trusted", "trusted"])
def test_falls_back_to_the_reference_if_trusted_rows_say_so(reference, digits, monkeypatch):
    X, noisy, _, trusted, Xt, _ = digits
    monkeypatch.setattr(class_task, "find_evidence", misled(class_task.find_evidence))
    fitted = PGSClassifier(SOFTMAX, reference=reference, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.safeness_.fell_back
    assert fitted.safeness_.status.startswith("Fell back")
    assert fitted.model_ is fitted.reference_model_
    assert fitted.reference_ == reference
    rows = {"raw": ~trusted, "raw+trusted": np.ones_like(trusted), "trusted": trusted}[reference]
    np.testing.assert_array_equal(fitted.predict(Xt), clone(SOFTMAX).fit(X[rows], noisy[rows]).predict(Xt))
    np.testing.assert_array_equal(fitted.corrected_labels_, noisy)
    assert fitted.label_issues().empty


def test_few_trusted_rows_fall_back():
    X, y = load_digits(return_X_y=True)
    fitted = PGSClassifier(SOFTMAX, random_state=0).fit(X[:100], y[:100], trusted=range(7))
    assert fitted.reference_ == "raw+trusted"
    assert "too few" in str(fitted.safeness_)


def test_certificate_in_the_fit(digits):
    X, noisy, _, trusted, Xt, yt = digits
    passed = PGSClassifier(SOFTMAX, reference="trusted", certificate=0.4, random_state=0).fit(X, noisy, trusted=trusted)
    assert passed.certificate_.certified
    assert passed.certificate_.n == passed.set_aside_.sum() > 0
    assert not (passed.set_aside_ & passed.held_out_).any()
    assert passed.certify(Xt, yt, 0.1).n == len(yt)
    refused = PGSClassifier(SOFTMAX, certificate=Claims(1e-9, size=100), random_state=0).fit(X, noisy, trusted=trusted)
    assert not refused.certificate_.certified
    assert refused.model_ is refused.reference_model_
    assert refused.safeness_.fell_back
    assert refused.certificate_.sentence in refused.safeness_.status
    # Neither rows nor labels that are set aside have a part in the models.
    changed = X.copy()
    changed[passed.set_aside_] = 1 - changed[passed.set_aside_]
    again = PGSClassifier(SOFTMAX, reference="trusted", certificate=0.4, random_state=0).fit(
        changed, noisy, trusted=trusted
    )
    np.testing.assert_array_equal(again.reference_model_.estimator.coef_, passed.reference_model_.estimator.coef_)
    assert [each.raw_loss for each in again.safeness_.sets] == [each.raw_loss for each in passed.safeness_.sets]


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
        fitted = PGSClassifier(dense, random_state=0).fit(frame, noisy, trusted=trusted)
    pd.testing.assert_frame_equal(frame, kept)
    assert set(fitted.predict(frame)) == {"ham", "spam"}
    assert fitted.feature_names_in_.tolist() == ["text", "sender", "size"]
    assert (fitted.corrected_labels_ == true).mean() > (noisy == true).mean() + 0.1
    with pytest.raises(ValueError, match=r"give Wrapped\(estimator, features=...\)"):
        PGSClassifier(FOREST, random_state=0).fit(frame, noisy, trusted=trusted)
    numbers = FunctionTransformer(lambda rows: rows[["size"]])
    for features in (numbers, lambda rows: rows[["size"]]):
        PGSClassifier(Wrapped(dense, features=features), random_state=0).fit(frame, noisy, trusted=trusted)


def test_estimators_without_weights_or_probabilities(digits):
    X, noisy, _, trusted, Xt, yt = digits
    neighbours = KNeighborsClassifier()
    fitted = PGSClassifier(neighbours, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.score(Xt, yt) > fitted.reference_model_.estimator.score(Xt, yt) + 0.01
    vectors = PGSClassifier(LinearSVC(), random_state=0).fit(X, noisy, trusted=trusted)
    assert not hasattr(vectors, "predict_proba")
    assert vectors.score(Xt, yt) > vectors.reference_model_.estimator.score(Xt, yt)


@pytest.mark.parametrize("estimator", [DecisionTreeRegressor(min_samples_leaf=5), KNeighborsRegressor()], ids=str)
def test_numbers_gain_and_fall_back(estimator, numbers):
    X, noisy, y, trusted, Xt, yt = numbers
    fitted = PGSRegressor(estimator, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.score(Xt, yt) > fitted.reference_model_.estimator.score(Xt, yt) + 0.02
    assert "mean squared error" in fitted.safeness_.status
    wrong = np.abs(noisy - y) > 1
    assert fitted.sample_weight_[wrong].mean() < fitted.sample_weight_[~wrong].mean() / 2
    np.testing.assert_allclose(noisy + fitted.label_shift_, fitted.corrected_labels_)
    assert set(fitted.label_issues()["row"]) <= set(np.flatnonzero(~trusted))
    clean = PGSRegressor(estimator, certificate=0.05, random_state=0).fit(X, y, trusted=trusted)
    assert clean.safeness_.fell_back
    assert clean.certificate_.entries[0].measure == "squared_error"
    assert fitted.certify(Xt, yt).n == len(yt)


def test_rows_without_labels_are_used(digits):
    X, _, y, trusted, Xt, yt = digits
    bare = ~trusted & (np.arange(len(y)) % 4 != 1)
    fitted = PGSClassifier(SOFTMAX, random_state=0).fit(X, np.where(bare, -1, y), trusted=trusted)
    assert (fitted.corrected_labels_[bare] == y[bare]).mean() > 0.9
    assert not bare[fitted.label_issues()["row"]].any()
    named = np.array([f"digit {label}" for label in y], dtype=object)
    named[bare] = None
    few = PGSClassifier(SOFTMAX, random_state=0).fit(X, named, trusted=np.flatnonzero(trusted)[:7])
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
    first, second = (PGSClassifier(estimator, random_state=3).fit(*parts) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(Xt), second.predict_proba(Xt))
    assert estimator.random_state is None
    assert not hasattr(estimator, "classes_")


def test_sparse_rows_and_gaps(digits):
    X, noisy, trusted = digits[0][:500], digits[1][:500], digits[3][:500]
    settings = {"reference": "raw", "random_state": 0}
    sparse = PGSClassifier(SOFTMAX, **settings).fit(scipy.sparse.coo_array(X), noisy, trusted=trusted)
    assert not sparse.safeness_.fell_back
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    fitted = PGSClassifier(DecisionTreeClassifier(min_samples_leaf=5), **settings).fit(gaps, noisy, trusted=trusted)
    assert not fitted.safeness_.fell_back


def test_trusted_rows_of_some_classes(digits):
    X, noisy, y, trusted, Xt, _ = digits
    few = trusted & (y < 5)
    fitted = PGSClassifier(SOFTMAX, reference="trusted", random_state=0).fit(X, noisy, trusted=few)
    assert fitted.predict_proba(Xt).shape == (len(Xt), 10)
    one = ~trusted | (y == 3)
    X, noisy, trusted = (np.concatenate([part[one], part[trusted & (y == 3)]]) for part in (X, noisy, trusted))
    X, noisy, trusted = (np.concatenate([part, part[trusted]]) for part in (X, noisy, trusted))
    assert PGSClassifier(SOFTMAX, random_state=0).fit(X, noisy, trusted=trusted).reference_ in ("raw", "raw+trusted")
    with pytest.raises(ValueError, match="reference: the trusted rows are of one class"):
        PGSClassifier(SOFTMAX, reference="trusted", random_state=0).fit(X, noisy, trusted=trusted)


def test_trusted_rows_are_routed(digits):
    X, noisy, _, trusted, _, _ = digits
    with sklearn.config_context(enable_metadata_routing=True):
        model = PGSClassifier(KNeighborsClassifier(), random_state=0).set_fit_request(trusted=True)
        found = cross_validate(
            model,
            X,
            noisy,
            cv=KFold(2, shuffle=True, random_state=0),
            params={"trusted": trusted},
            return_estimator=True,
        )
    assert sum(each.trusted_.sum() for each in found["estimator"]) == trusted.sum()


def test_is_what_its_estimator_must_be():
    assert is_classifier(PGSClassifier(SOFTMAX))
    assert is_regressor(PGSRegressor(make_pipeline(StandardScaler(), Ridge())))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": KMeans(2)}, "model: must be a classifier, got KMeans"),
        ({"model": Ridge()}, "model: must be a classifier, got Ridge.*; PGSRegressor takes the others"),
        ({"search": "free"}, "search: 'free' follows the derivatives of one model, and model=Logistic.* has none"),
        ({"reference": "weak"}, "reference"),
        ({"certificate": Claims(per_group=True)}, "certificate: per_group=True needs the group"),
        ({"model": Wrapped(SOFTMAX, features=lambda X: X[:10])}, "features: gave 10 rows for the 900 rows"),
    ],
)
def test_what_is_wrong_is_named(arguments, message, digits):
    X, noisy, _, trusted, _, _ = digits
    model = PGSClassifier(**{"model": SOFTMAX, "random_state": 0, **arguments})
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy, trusted=trusted)
    assert model.__dict__ == before


def test_safeness_asks_more_of_the_new_model(digits):
    X, noisy, _, trusted, _, _ = digits
    fitted = PGSClassifier(SOFTMAX, safeness=PerClass([3, 8]), random_state=0).fit(X, noisy, trusted=trusted)
    assert [each.name for each in fitted.safeness_.sets][-2:] == ["class 3", "class 8"]
    assert not fitted.safeness_.fell_back
    assert all(each.margin >= 0 for each in fitted.safeness_.sets)
    with pytest.raises(ValueError, match="PerView: "):
        PGSClassifier(SOFTMAX, safeness=PerView({"top": [0, 1]}), random_state=0).fit(X, noisy, trusted=trusted)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("last", ["evidence-0", "last-evidence"])
def test_a_killed_fit_goes_on(last, digits, tmp_path, monkeypatch):
    X, noisy, _, trusted, Xt, _ = digits
    forest = ExtraTreesClassifier(5)
    plain = Checkpoint.keep

    def keep(self, name, stage):
        plain(self, name, stage)
        if name == last:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", keep)
        with pytest.raises(Killed):
            PGSClassifier(forest, checkpoint=tmp_path, random_state=0).fit(X, noisy, trusted=trusted)
    assert list(tmp_path.glob(f"stage-{last}*"))
    with pytest.raises(CheckpointError, match=r"with other .*model__estimator__n_estimators"):
        PGSClassifier(ExtraTreesClassifier(6), checkpoint=tmp_path, random_state=0).fit(X, noisy, trusted=trusted)
    resumed = PGSClassifier(forest, checkpoint=tmp_path, random_state=0).fit(X, noisy, trusted=trusted)
    whole = PGSClassifier(forest, random_state=0).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(resumed.predict_proba(Xt), whole.predict_proba(Xt))
    np.testing.assert_array_equal(resumed.label_distribution_, whole.label_distribution_)
    assert resumed.safeness_ == whole.safeness_
    assert not list(tmp_path.glob("stage-*"))


def test_one_row_that_is_not_a_table_is_named(digits):
    X, noisy, _, trusted, _, _ = digits
    fitted = PGSClassifier(KNeighborsClassifier(), random_state=0).fit(X, noisy, trusted=trusted)
    with pytest.raises(
        ValueError, match=r"X: has shape \(64,\), and the rows of fit have 64 columns. Reshape your data"
    ):
        fitted.predict(X[0])


def test_texts_need_no_columns():
    frame, noisy, _, trusted = mails()
    texts = frame["text"].tolist()
    words = make_pipeline(TfidfVectorizer(), LogisticRegression())
    fitted = PGSClassifier(words, random_state=0).fit(texts, noisy, trusted=trusted)
    assert set(fitted.predict(texts)) == {"ham", "spam"}
    np.testing.assert_array_equal(fitted.predict(np.array(texts, dtype=object)), fitted.predict(texts))
