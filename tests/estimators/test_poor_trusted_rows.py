"""Trusted rows that lack a class, are few, or come with demands that they cannot meet."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC

from safegain import Auto, Free, Network, PerClass, PerGroup, PGSClassifier, PGSRegressor, Recipe, Wrapped

NETWORK = Network(16, Recipe(n_steps=100))


@pytest.fixture(scope="module")
def one_sided():
    """Clean labels of two classes; the trusted rows are all of the first one."""
    X, y = make_classification(400, 6, n_informative=4, random_state=0)
    return X, y, np.isin(np.arange(400), np.flatnonzero(y == 0)[:80])


@pytest.mark.parametrize(
    ("model", "search"),
    [
        (NETWORK, "auto"),
        ("linear", "auto"),
        (LogisticRegression(), "auto"),
        ("linear", Free(n_outer=2, outer_step="adam")),
    ],
    ids=["network", "linear", "wrapped", "free"],
)
def test_a_model_of_the_trusted_rows_alone_is_no_reference_where_they_lack_a_class(one_sided, model, search):
    X, y, trusted = one_sided
    fitted = PGSClassifier(model, search=search, random_state=0).fit(X, y, trusted=trusted)
    assert fitted.reference_ != "trusted"
    assert fitted.score(X, y) > 0.6  # who only ever says the first class has about half
    if search == "auto":
        assert "trusted rows lack a class that many labels name" in fitted.safeness_.status


def test_a_rare_class_may_be_missing(one_sided):
    """Few rows drawn at random miss classes too; the model of the trusted rows alone is still in the contest."""
    X, y, _ = one_sided
    labels = np.where(np.arange(400) % 8 == 0, 2, y)  # an eighth of the rows
    trusted = np.isin(np.arange(400), np.flatnonzero(labels < 2)[:120])
    fitted = PGSClassifier("linear", random_state=0).fit(X, labels, trusted=trusted)
    assert "trusted" in set(fitted.leaderboard_["trained_on"])


def test_who_asks_for_that_reference_gets_it(one_sided):
    X, y, trusted = one_sided
    assert (
        PGSClassifier("linear", reference="trusted", random_state=0).fit(X, y, trusted=trusted).reference_ == "trusted"
    )
    with pytest.raises(ValueError, match="the trusted rows are of one class"):
        PGSClassifier(LogisticRegression(), reference="trusted").fit(X, y, trusted=trusted)


@pytest.mark.parametrize("n_trusted", [10, 200])
def test_safeness_is_checked_however_the_fit_ends(n_trusted):
    X, y = make_regression(300, 5, random_state=0)
    trusted = np.arange(300) < n_trusted
    for safeness, words in ((PerGroup(), "PerGroup: needs the group"), (PerClass(), "PerClass: a regressor has no")):
        with pytest.raises(ValueError, match=words):
            PGSRegressor("linear", safeness=safeness, random_state=0).fit(X, y, trusted=trusted)
    with pytest.raises(ValueError, match="PerGroup: needs the group"):
        PGSClassifier("linear", safeness=PerGroup()).fit(X, y > 0, trusted=trusted)


def test_a_share_that_leaves_too_few_is_blamed_and_not_the_rows():
    X, y = make_classification(300, random_state=0)
    fitted = PGSClassifier("linear", search=Auto(held_out=0), random_state=0).fit(X, y, trusted=np.arange(300) < 160)
    assert "held_out leaves none of 160 trusted rows to compare models on" in fitted.safeness_.status
    few = PGSClassifier("linear", random_state=0).fit(X, y, trusted=np.arange(300) < 7)
    assert "7 trusted rows are too few" in few.safeness_.status


def test_features_follow_the_random_state_and_leave_the_global_generator():
    X, y = make_classification(300, 10, n_informative=5, flip_y=0.2, random_state=0)
    trusted, found = np.arange(300) < 120, []
    for _ in range(2):
        state = np.random.get_state()[1].copy()  # noqa: NPY002 - which must not be drawn from
        learner = Wrapped(LogisticRegression(), features=GaussianRandomProjection(4))
        found.append(PGSClassifier(learner, random_state=0).fit(X, y, trusted=trusted).label_distribution_)
        assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    np.testing.assert_array_equal(*found)


def test_what_cannot_work_is_said():
    X, y = make_classification(100, random_state=0)
    with pytest.raises(ValueError, match="takes distances or kernels between rows"):
        PGSClassifier(SVC(kernel="precomputed")).fit(X @ X.T, y, trusted=range(50))
    with pytest.raises(ValueError, match="groups: are of several types, int, str"):
        PGSClassifier("linear").fit(X, y, trusted=range(50), groups=np.array([1, "a"] * 50, dtype=object))
    with pytest.raises(ValueError, match=r"safeness: is PerClass\(.*\), so there is no safeness__a to set"):
        PGSClassifier(safeness=PerClass()).set_params(safeness__a=1)
