"""What a fit found, as one value that another estimator can take over."""

from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from safegain import Network, PGSClassifier, PGSRegressor, Recipe
from safegain.estimators.record import Record
from tests.estimators.samples import classifier, noisy_diabetes, noisy_digits

BRIEF = Network(n_hidden=16, recipe=Recipe(n_steps=40))
CASES = {
    "default": (lambda: PGSClassifier(BRIEF, random_state=0), noisy_digits),
    "free": (lambda: classifier(certificate=0.2), noisy_digits),
    "numbers": (lambda: PGSRegressor("linear", certificate=0.2, random_state=0), noisy_diabetes),
    "wrapped": (lambda: PGSClassifier(LogisticRegression(max_iter=500), random_state=0), noisy_digits),
}


@pytest.mark.parametrize("case", CASES)
def test_an_estimator_that_adopts_a_record_is_as_good_as_fitted(case):
    make, data = CASES[case]
    X, noisy, _, trusted = data()
    X = X / np.abs(X).max()
    fitted, other = make().fit(X, noisy, trusted=trusted), make()
    other.adopt(fitted.record_)
    check_is_fitted(other)
    # What scikit-learn knows of the columns is not of the record.
    other.n_features_in_ = fitted.n_features_in_
    assert vars(other).keys() == vars(fitted).keys()
    np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
    pd.testing.assert_frame_equal(other.label_issues(), fitted.label_issues())
    said = []
    for each in (other, fitted):
        each.adopt(replace(each.record_, ledger=None))
        each.ledger_.allow("these are rows of the fit")
        said.append(each.certify(X[:100], noisy[:100]))
    assert said[0] == said[1]


@pytest.mark.parametrize("case", CASES)
def test_a_record_says_what_the_attributes_say(case):
    make, data = CASES[case]
    X, noisy, _, trusted = data()
    fitted = make().fit(X / np.abs(X).max(), noisy, trusted=trusted)
    record = fitted.record_
    assert record.model is fitted.model_
    assert record.references[record.reference] is fitted.reference_model_
    assert record.references == fitted.references_
    assert record.fell_back == fitted.safeness_.fell_back == (fitted.model_ is fitted.reference_model_)
    assert record.certificate is fitted.certificate_
    assert record.comparison is fitted.comparison_
    for name, attribute in {
        "weight": "sample_weight_",
        "corrected": "corrected_labels_",
        "safeness": "safeness_",
    }.items():
        assert getattr(record, name) is getattr(fitted, attribute)
    for name in ("trusted", "held_out", "set_aside", "reference", "history", "n_iter"):
        assert getattr(record, name) is getattr(fitted, f"{name}_")
    np.testing.assert_array_equal(record.trusted, trusted)
    np.testing.assert_array_equal(record.labels.given, noisy)
    assert not (record.held_out & record.set_aside).any()
    assert (record.held_out | record.set_aside <= trusted).all()
    assert record.set_aside.any() == (record.certificate is not None)
    moved = fitted.label_shift_ if isinstance(fitted, PGSRegressor) else fitted.label_distribution_
    assert record.moved is moved
    assert (record.clip is None) == isinstance(fitted, PGSClassifier)
    for name in ("weight", "corrected", "moved", "trusted", "held_out", "set_aside"):
        assert len(getattr(record, name)) == len(noisy), name


def test_a_record_is_not_changed():
    X, noisy, _, trusted = noisy_digits(200)
    record = classifier(n_outer=1).fit(X, noisy, trusted=trusted).record_
    for field in fields(Record):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field.name, None)
