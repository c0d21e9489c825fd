"""Numbers: gains, the user's units, and hard rows."""

import numpy as np
import pytest
import scipy.sparse
import torch

from safegain import Claims, MultiMeasure
from safegain.data.labels import regression_labels
from safegain.data.storage import IN_MEMORY
from safegain.estimators.regressor import PGSRegressor
from safegain.search.outcome import Choice
from tests.estimators.samples import finite, model_of, noisy_diabetes, put, regressor


def test_regressor_gains_on_rows_it_never_saw():
    random_state = np.random.RandomState(0)
    X = random_state.randn(900, 5)
    y = X @ [1, -2, 0.5, 0, 3] + 0.1 * random_state.randn(900)
    noisy = y + np.where(np.arange(900) % 2, 6 * random_state.randn(900), 0)
    trusted = np.arange(900) < 100
    fitted = regressor(n_outer=20).fit(X[:600], np.where(trusted, y, noisy)[:600], trusted=trusted[:600])
    raw, new = (((m.predict(X[600:]) - y[600:]) ** 2).mean() for m in (fitted.references_["raw"], fitted))
    assert new < 0.8 * raw
    issues = fitted.label_issues()
    assert len(issues) == 500  # every weak row was moved a little
    doubt = 1 - issues["weight"] * (1 - issues["confidence"])
    assert doubt.is_monotonic_decreasing
    np.testing.assert_allclose(issues["suggested"] - issues["given"], fitted.label_shift_[issues["row"]])


def test_the_report_of_a_regression_is_in_the_users_units():
    X, noisy, _, trusted = noisy_diabetes()
    near, far = (regressor().fit(X, noisy * c, trusted=trusted) for c in (1, 1000))
    for a, b in zip(near.safeness_.sets, far.safeness_.sets, strict=True):
        assert b.raw_loss == pytest.approx(1e6 * a.raw_loss, rel=1e-6)
    np.testing.assert_allclose(far.label_shift_, 1000 * near.label_shift_, rtol=1e-6, atol=1e-6)
    absolute = regressor(safeness=MultiMeasure("absolute_error")).fit(X, noisy, trusted=trusted)
    assert 30 < absolute.safeness_.sets[0].raw_loss < 90  # a mean absolute error of diabetes progression


def test_bad_labels_of_a_regression():
    X, y, _, trusted = noisy_diabetes()
    with pytest.raises(ValueError, match="y: row 5 is inf"):
        regressor().fit(X, put(y, 5, np.inf), trusted=trusted)
    with pytest.raises(ValueError, match="y: a regressor needs numbers"):
        regressor().fit(X, np.where(y > 100, "high", "low"), trusted=trusted)
    with pytest.raises(ValueError, match="no row outside the trusted rows has a label"):
        regressor().fit(X, np.where(trusted, y, np.nan), trusted=trusted)
    with pytest.raises(ValueError, match="groups: needs one entry for each of the 442 rows"):
        regressor().fit(X, y, trusted=trusted, groups=[1, 2])
    with pytest.raises(ValueError, match="groups: row 3 has none"):
        regressor().fit(X, y, trusted=trusted, groups=put(np.zeros(442), 3, np.nan))


@pytest.mark.parametrize("model", ["linear", "network"])
def test_hard_regression_rows(model):
    X, noisy, _, trusted = noisy_diabetes()
    constant, huge = X.copy(), X * np.where(np.arange(10) % 2, 1e12, 1e-12)
    constant[:, :5] = 1e12
    for rows, labels, chosen in [
        (constant, noisy, trusted),
        (huge, noisy, trusted),
        (np.repeat(X[:1], 442, axis=0), noisy, trusted),
        (X, np.full(442, 3.0), trusted),
        (X, noisy * 1e12, trusted),
        (X, noisy, [0, 1]),
        (X[:, :1], noisy, trusted),
        (np.tile(X, 60)[:, :500], noisy, trusted),  # more columns than rows, all collinear
    ]:
        assert finite(regressor(model_of(model, 60), n_outer=2).fit(rows, labels, trusted=chosen), rows)


def test_many_columns_never_meet_a_square_matrix(monkeypatch):
    random_state = np.random.RandomState(0)
    X = scipy.sparse.random(150, 4000, density=0.01, format="csr", random_state=random_state)
    y = np.asarray(X @ random_state.randn(4000))
    monkeypatch.setattr("safegain.data.design.SparseDesign.gram", None)
    assert finite(regressor(n_outer=2).fit(X, y, trusted=range(50)), X)


def test_shifts_are_added_to_labels_and_to_predictions_where_there_is_none():
    labels = regression_labels(np.array([1.0, 2.0, np.nan, 4.0]))
    trusted, weight = np.arange(4) == 1, np.ones(4)
    base = torch.tensor([1.0, 7.0, 4.0]).double()  # of the weak rows; 7 is what a model predicts
    choice = Choice(None, torch.ones(3), torch.tensor([0.5, -1.0, 0.0]).double(), base)
    shift, corrected = PGSRegressor()._moved(choice, weight, labels, trusted, IN_MEMORY)
    assert shift.tolist() == [0.5, 0, -1, 0]
    assert corrected.tolist() == [1.5, 2, 6, 4]


def test_errors_count_up_to_the_range_of_the_trusted_labels():
    X, noisy, _, trusted = noisy_diabetes()
    fitted = PGSRegressor("linear", certificate=0.2, random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.record_.clip == np.ptp(noisy[trusted])
    assert fitted.certificate_.entries[0].bound == pytest.approx(np.ptp(noisy[trusted & ~fitted.set_aside_]) ** 2)
    fresh = X + 0.01
    assert fitted.certify(fresh[:90], noisy[:90], 0.2).entries[0].bound == pytest.approx(fitted.record_.clip**2)
    clipped = Claims(0.2, measures="squared_error", clip=5.0)
    assert fitted.certify(fresh[90:180], noisy[90:180], clipped).entries[0].bound == 25.0
    constant = regression_labels(np.full(4, 3.0))
    assert PGSRegressor()._usual_clip(constant, np.ones(4, bool)) == constant.scale > 0
