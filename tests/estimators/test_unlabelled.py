"""The natural calls where labels are missing: all of them right, some of them, or none known to be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression

from safegain import Forest, Free, PGSClassifier, PGSRegressor
from tests.quick import quick_evidence

N, FEW = 400, 40
FOREST = Forest(n_trees=20, min_samples_leaf=1)


def digits(k=5, seed=0):
    X, y = load_digits(n_class=k, return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(y))
    X, y = X[order], y[order]
    n = min(N, len(y) - 60)
    return X[:n], y[:n], np.arange(n) < FEW, X[n : n + 300], y[n : n + 300]


@pytest.fixture(scope="module")
def fitted():
    X, y, labelled, *_ = digits()
    with quick_evidence():
        return PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)


def test_few_right_labels_gain_from_rows_without_one(fitted):
    _, y, labelled, X_new, y_new = digits()
    assert fitted.reference_ == "trusted"
    assert not fitted.safeness_.fell_back
    right = [(model.predict(X_new) == y_new).mean() for model in (fitted, fitted.reference_model_)]
    assert right[0] > right[1] + 0.02
    assert (fitted.corrected_labels_ == y)[~labelled].mean() > 0.9
    np.testing.assert_array_equal(fitted.corrected_labels_[labelled], y[labelled])
    assert set(fitted.leaderboard_["trained_on"]) == {"trusted", "corrected"}
    assert len(fitted.label_issues()) == 0  # nothing was doubted
    assert (fitted.comparison_["row"].unique().shape[0]) == FEW  # each label judged once


@pytest.mark.parametrize("how", ["nan", "none", "series", "right", "numbers of rows"])
def test_every_way_to_write_it_is_the_same_fit(fitted, how):
    X, y, labelled, X_new, _ = digits()
    say = {"trusted": labelled}
    given = np.where(labelled, y.astype(float), np.nan)
    if how == "none":
        given = np.where(labelled, y, None)
    elif how == "series":
        given = pd.Series(given).astype("Int64")
    elif how == "right":
        given, say = np.full(N, -1), {"right": np.where(labelled, y, -1)}
    elif how == "numbers of rows":
        say = {"trusted": np.flatnonzero(labelled)}
    found = PGSClassifier(FOREST, random_state=0).fit(X, given, **say)
    assert found.classes_.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(found.predict_proba(X_new), fitted.predict_proba(X_new), atol=1e-6)


def test_doubtful_labels_beside_right_ones_and_none():
    X, y, trusted, X_new, y_new = digits()
    random = np.random.RandomState(0)
    given = np.where(~trusted & (random.rand(N) < 0.3), (y + 1) % 5, y)
    given[~trusted & (random.rand(N) < 0.6)] = -1
    found = PGSClassifier(FOREST, random_state=0).fit(X, given, trusted=trusted)
    assert found.classes_.tolist() == [0, 1, 2, 3, 4]
    assert (found.predict(X_new) == y_new).mean() > 0.9


def test_without_trusted_rows_labels_count_as_doubtful():
    X, y, labelled, X_new, y_new = digits()
    labelled[: 3 * FEW] = True
    given = np.where(labelled, y, -1)
    found = PGSClassifier(FOREST, random_state=0).fit(X, given)
    assert found.trusted_.sum() == pytest.approx(0.2 * labelled.sum(), abs=3)
    assert found.certificate_ is None
    assert (found.predict(X_new) == y_new).mean() > 0.85
    with pytest.raises(ValueError, match="certificate: needs rows whose labels you trust"):
        PGSClassifier(FOREST, certificate=0.05).fit(X, given)


def test_numbers_gain_from_rows_without_one_or_are_the_references_own():
    X, y = load_diabetes(return_X_y=True)
    labelled = np.random.RandomState(0).permutation(len(y)) < 60
    found = PGSRegressor([FOREST, "linear"], random_state=0).fit(X, np.where(labelled, y, np.nan), trusted=labelled)
    assert found.reference_ == "trusted"
    assert np.isfinite(found.predict(X)).all()
    assert np.isfinite(found.corrected_labels_).all()
    np.testing.assert_array_equal(found.corrected_labels_[labelled], y[labelled])
    errors = [np.square(model.predict(X) - y)[~labelled].mean() for model in (found, found.reference_model_)]
    assert errors[0] < 1.03 * errors[1]


def test_two_classes_of_minus_one_and_one_take_another_mark():
    X, y, labelled, X_new, y_new = digits(2)
    signs = np.where(y == 1, 1.0, -1.0)
    found = PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, signs, np.nan), trusted=labelled)
    assert found.classes_.tolist() == [-1, 1]
    assert (found.predict(X_new) == np.where(y_new == 1, 1, -1)).mean() > 0.9


def test_a_class_with_a_single_label_is_known_in_every_fold():
    X, y, labelled, *_ = digits()
    labelled[np.flatnonzero(labelled & (y == 4))[1:]] = False
    found = PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)
    assert found.classes_.tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(found.predict_proba(X)).all()
    assert found.comparison_["row"].nunique() == labelled.sum() - 1


def test_one_row_without_a_label_changes_nothing_for_the_others():
    X, y, trusted, *_ = digits()
    noisy = np.where(~trusted & (np.arange(N) % 3 == 0), (y + 1) % 5, y)
    once = noisy.copy()
    once[-1] = -1
    for search in (Free(n_outer=3), "auto"):
        model = "linear" if search != "auto" else FOREST
        both = [
            PGSClassifier(model, search=search, random_state=0).fit(X, each, trusted=trusted) for each in (noisy, once)
        ]
        same = both[0].corrected_labels_[:-1] == both[1].corrected_labels_[:-1]
        assert same.mean() > 0.9
        assert (both[1].corrected_labels_[:-1] != once[:-1]).sum() > N // 10  # labels are searched as before


BAD = {
    "no label": (lambda y, labelled: (np.full(N, -1), labelled), "y: found no class"),
    "one class": (lambda y, labelled: (np.where(labelled, 3, -1), labelled), "y: found one class only, 3"),
    "trusted rows without a label": (
        lambda y, labelled: (np.where(labelled, y, -1), np.ones(N, bool)),
        "trusted: row 40 is trusted but has no label",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_labels_that_are_not_enough(name):
    X, y, labelled, *_ = digits()
    make, message = BAD[name]
    given, trusted = make(y, labelled)
    with pytest.raises(ValueError, match=message):
        PGSClassifier(FOREST).fit(X, given, trusted=trusted)


@pytest.mark.parametrize("reference", ["raw", "raw+trusted"])
def test_references_that_there_are_not(reference):
    X, y, labelled, *_ = digits()
    fit = PGSClassifier(FOREST, reference=reference, random_state=0).fit
    if reference == "raw":
        with pytest.raises(ValueError, match="reference: 'raw' is trained on the labels outside of the trusted rows"):
            fit(X, np.where(labelled, y, -1), trusted=labelled)
    else:  # the trusted rows are all that there is
        assert fit(X, np.where(labelled, y, -1), trusted=labelled).reference_ == reference


@pytest.mark.parametrize("search", ["free", "structured"])
def test_searches_that_begin_with_a_model_of_weak_labels_say_so(search):
    X, y, labelled, *_ = digits()
    with pytest.raises(ValueError, match=r"y: no row outside the trusted rows has a label.*search='auto'"):
        PGSClassifier("linear", search=search).fit(X, np.where(labelled, y, -1), trusted=labelled)


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of numpy: 0 / 0
@pytest.mark.parametrize("times", [4, 20])  # with 20, a row's neighbours are like it: most components have no label
def test_rows_that_are_hard_for_graphs(times):
    X, y, labelled, *_ = digits(3)
    X = np.column_stack([np.repeat(X[::times], times, axis=0), np.ones(N)])  # and a constant column
    y = np.repeat(y[::times], times)
    labelled = np.random.RandomState(0).permutation(N) < FEW if times == 20 else labelled
    found = PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)
    assert np.isfinite(found.predict_proba(X)).all()
    assert np.isfinite(found.label_distribution_).all()


def test_seven_labels_are_too_few_to_compare_models():
    X, y, labelled, *_ = digits(2)
    labelled[7:] = False
    found = PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)
    assert found.safeness_.fell_back
    assert found.reference_ == "trusted"
    assert "7 trusted rows are too few to compare models" in found.safeness_.status


def test_one_label_of_each_class_is_too_few_to_judge():
    X, y, labelled, *_ = digits(10)
    labelled[:] = False
    labelled[np.unique(y, return_index=True)[1]] = True
    found = PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)
    assert found.safeness_.fell_back
    assert "10 trusted rows are too few to compare models on" in found.safeness_.status


def test_worth_where_a_quarter_of_the_labels_is_of_one_class():
    X, y, *_ = digits(2)
    labelled = np.zeros(len(y), dtype=bool)
    labelled[np.flatnonzero(y == 0)[:18]] = labelled[np.flatnonzero(y == 1)[:2]] = True
    found = PGSClassifier(LogisticRegression(), random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)
    assert found.worth_ is None
    assert np.isfinite(found.predict_proba(X)).all()
