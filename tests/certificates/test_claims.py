"""What is claimed: checked when built, the same in a fit and on fresh rows."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits

from safegain import Linear, PGSClassifier, PGSRegressor
from safegain.certificates.bounded_losses import BoundedLoss
from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify

pytestmark = pytest.mark.usefixtures("quick_evidence")
COST = BoundedLoss("cost", lambda y, said: 1.0 * (np.abs(y - said) > 50), 1.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        *(({"delta": value}, "delta must be a number between 0 and 1") for value in (0, 1, 1.5, "never", True, None)),
        *(({"size": value}, "size must be a number of rows or a share") for value in (0, -3, 1.5, "few", True)),
        *(({"tolerance": value}, "tolerance must be a number of at least 0") for value in (-1, None, {"error": "no"})),
        (
            {"tolerance": {"brier": 0.1}, "measures": "error"},
            r"tolerance: names \['brier'\]; the measures are \['error'\]",
        ),
        *(({"measures": value}, "measures must name one measure or several") for value in (3, "", [])),
        ({"measures": ["error", "accuracy"]}, r"measures: takes some of error, log_loss.*got 'accuracy'"),
        ({"per_class": 1}, "per_class must be True or False"),
        ({"per_group": "yes"}, "per_group must be True or False"),
        *(({"priors": value}, "priors must be shares .* sum to 1") for value in ({1: 0.5}, {0: 2, 1: -1}, [0.5, 0.5])),
        *(({"clip": value}, "clip must be a positive number") for value in (0, -1.0, np.inf, "wide")),
        ({"clip": 1.0, "measures": ["brier", COST]}, r"clip: is for squared_error .* are \['brier', 'cost'\]"),
    ],
)
def test_claims_are_checked_when_built(fields, message):
    with pytest.raises(ValueError, match=message):
        Claims(**fields)


def test_claims_about_numbers_are_filled_only_where_they_say_nothing():
    assert Claims(0.1).for_numbers(7.0) == Claims(0.1, measures="squared_error", clip=7.0)
    mine = Claims(measures="absolute_error", clip=3.0)
    assert mine.for_numbers(7.0) == mine
    assert Claims(measures=COST).for_numbers(7.0) == Claims(measures=COST)  # which has a bound of its own


def digits():
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero(y < 4)[:500]
    X, y, trusted, random = X[rows] / 16, y[rows], np.arange(500) < 200, np.random.RandomState(0)
    return X, np.where(~trusted & (random.rand(500) < 0.5), (y + 1) % 4, y), trusted


def test_a_fit_and_fresh_rows_are_judged_by_the_same_claims():
    X, y, trusted = digits()
    groups = np.where(np.arange(len(y)) % 3, "left", "right")
    said = {"delta": 0.2, "tolerance": {"brier": 0.01}, "measures": ["error", "brier"], "per_class": True}
    claims = Claims(**said, per_group=True, priors=dict.fromkeys(range(4), 0.25))
    model = PGSClassifier(Linear(alpha=0.01), reference="raw", certificate=claims.with_params(size=80), random_state=0)
    aside = model.fit(X, y, trusted=trusted, groups=groups).set_aside_
    assert model.certificate_.certified  # so that model_ is still the model that was judged
    assert aside.sum() == 80
    entries = model.certificate_.entries
    assert [entry.tolerance for entry in entries] == [0] * (1 + 2 + 4) + [0.01] * (1 + 2 + 4)
    assert {entry.delta for entry in entries} == {0.16}  # the first test of a ledger
    weighted = [(entry.name, entry.measure) for entry in entries if "priors" in entry.test]
    assert weighted == [("all rows", "error"), ("all rows", "brier")]  # groups and classes are judged by their own rows
    rows, right, of = X[aside], y[aside], groups[aside]
    models = model.model_, model.reference_model_
    assert certify(*models, rows, right, claims.with_params(delta=0.16), groups=of).entries == entries
    fresh = certify(*models, X[~trusted] + 0.01, y[~trusted], 0.16).entries
    assert model.certify(X[~trusted] + 0.01, y[~trusted], 0.2).entries == fresh
    with pytest.raises(ValueError, match="claims: size=80 is for a fit"):
        model.certify(rows, right, model.certificate, groups=of)
    with pytest.raises(ValueError, match="claims: per_group=True needs the group of every row"):
        model.certify(rows, right, claims)


def test_views_are_checked_as_rows_are():
    X, y, trusted = digits()
    model = PGSClassifier(Linear(alpha=0.01), random_state=0).fit(X, y, trusted=trusted)
    X = X + 0.01  # or they would be rows of the fit
    found = model.certify(X.tolist(), y, 0.1, views={"dim": (X / 2).tolist()})
    expected = certify(model.model_, model.reference_model_, X, y, 0.08, views={"dim": X / 2})
    assert found.entries == expected.entries
    with pytest.raises(ValueError, match="X: X has 3 features"):
        model.certify(X, y, views={"narrow": X[:, :3]})


def test_a_regression_has_its_own_measure_and_clip():
    X, y = load_diabetes(return_X_y=True)
    trusted = np.arange(len(y)) % 5 < 3
    given = np.where(trusted, y, y + 400 * (np.random.RandomState(0).rand(len(y)) < 0.5))
    model = PGSRegressor("linear", certificate=0.1, reference="raw", random_state=0).fit(X, given, trusted=trusted)
    assert model.certificate_.certified
    aside = model.set_aside_
    clip = np.ptp(y[trusted & ~aside])
    assert model.certificate_.entries[0].bound == clip**2
    again = certify(
        model.model_, model.reference_model_, X[aside], y[aside], Claims(0.08, measures="squared_error", clip=clip)
    )
    assert again.entries[0].p_value == model.certificate_.p_value
    later = model.certify(X[aside] + 0.01, y[aside], Claims(measures=["absolute_error", COST]))
    assert [entry.bound for entry in later.entries] == [np.ptp(y[trusted]), 1.0]  # now of all trusted labels


@pytest.mark.parametrize(
    ("estimator", "claims", "message"),
    [
        (PGSClassifier, Claims(clip=2.0), "clip: is for squared_error and absolute_error"),
        (PGSClassifier, Claims(tolerance=1.0), "tolerance: must be below 1, the largest error there can be"),
        (PGSClassifier, Claims(per_group=True), "certificate: per_group=True needs the group of every row"),
        (PGSRegressor, Claims(per_class=True), "per_class: is about classes"),
        (
            PGSRegressor,
            Claims(measures="brier"),
            "measures: brier is about classes; for a regression take squared_error",
        ),
    ],
)
def test_a_fit_refuses_claims_that_it_cannot_test_before_it_begins(estimator, claims, message, monkeypatch):
    monkeypatch.setattr(estimator, "_learn", lambda *args: pytest.fail("it began"))
    X, y, trusted = digits()
    with pytest.raises(ValueError, match=message):
        estimator(certificate=claims).fit(X, y, trusted=trusted)


def test_measures_of_numbers_are_refused_for_classes_before_anything_is_trained():
    X, y = np.arange(80.0)[:, None], np.array(["a", "b"] * 40)
    claims = Claims(measures="squared_error", clip=1.0)
    with pytest.raises(ValueError, match=r"^measures: squared_error is about numbers; for a classifier take error"):
        PGSClassifier("linear", certificate=claims).fit(X, y, trusted=np.arange(80) < 60)
    fitted = PGSClassifier("linear", random_state=0).fit(X, y, trusted=np.arange(80) < 60)
    with pytest.raises(ValueError, match=r"^measures: squared_error is about numbers"):
        fitted.certify(X, y, claims)
