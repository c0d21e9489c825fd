"""Rows of every kind: containers, sparse rows, precisions and scalings."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.linear_model import Ridge

from safegain import Linear, Network, PerView, PGSRegressor, Wrapped, stack
from safegain.baselines import BaselineRegressor
from safegain.data.any_rows import AnyRows
from safegain.data.rows import ArrayRows
from safegain.estimators.rows import check_rows, rows_for, rows_of
from tests.estimators.samples import classifier, model_of, noisy_diabetes, noisy_digits, regressor


def test_every_container_gives_the_same_model():
    X, noisy, _, trusted = noisy_digits(300, k=4)
    reference = classifier().fit(X, noisy, trusted=trusted)
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    as_frame = classifier().fit(frame, pd.Series(noisy), trusted=pd.Series(trusted))
    assert as_frame.feature_names_in_.tolist() == list(frame.columns)
    as_tensor = classifier().fit(torch.from_numpy(X), torch.from_numpy(noisy), trusted=torch.from_numpy(trusted))
    by_number = classifier().fit(X, noisy, trusted=np.flatnonzero(trusted))
    text = np.array(list("abcd"))[noisy]
    as_text = classifier().fit(X, text, trusted=trusted)
    for other in (as_frame, as_tensor, by_number, as_text):
        np.testing.assert_array_equal(other.sample_weight_, reference.sample_weight_)
    assert (as_text.predict(X) == np.array(list("abcd"))[reference.predict(X)]).all()
    np.testing.assert_array_equal(as_frame.predict(frame), reference.predict(X))
    np.testing.assert_array_equal(reference.predict(torch.from_numpy(X)), reference.predict(X))


@pytest.mark.parametrize("make", [classifier, regressor])
def test_sparse_rows_are_never_densified(make, monkeypatch):
    data = noisy_digits(300, k=3) if make is classifier else noisy_diabetes()
    X, noisy, _, trusted = data
    X = np.where(np.abs(X) > np.median(np.abs(X)), X, 0)
    unscaled = Linear(scaling="none")
    dense_view = make(unscaled).fit(X, noisy, trusted=trusted)
    rows = scipy.sparse.csr_matrix(X)
    d = X.shape[1]
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csr_array):
        plain = kind.toarray
        # Only (d, d) grams may ever be written out.
        monkeypatch.setattr(kind, "toarray", lambda s, plain=plain: plain(s) if s.shape == (d, d) else 1 / 0)
    fitted = make(unscaled).fit(rows, noisy, trusted=trusted)
    np.testing.assert_allclose(fitted.sample_weight_, dense_view.sample_weight_, atol=1e-6)
    assert len(fitted.predict(rows)) == len(noisy)
    assert make().fit(rows, noisy, trusted=trusted).safeness_.sets
    views = PerView({"a": range(0, 5), "b": range(5, d)})
    by_view = make(unscaled, safeness=views).fit(rows, noisy, trusted=trusted)
    dense = make(unscaled, safeness=views).fit(X, noisy, trusted=trusted)
    for a, b in zip(by_view.safeness_.sets, dense.safeness_.sets, strict=True):
        assert a.raw_loss == pytest.approx(b.raw_loss, rel=1e-8)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_sparse_and_dense_rows_predict_alike_whichever_was_fitted(make):
    X, noisy, _, trusted = noisy_digits(200, k=3) if make is classifier else noisy_diabetes()
    X, sparse = X + 5, scipy.sparse.csr_matrix(X + 5)
    for fitted in (make().fit(X, noisy, trusted=trusted), make().fit(sparse, noisy, trusted=trusted)):
        np.testing.assert_allclose(fitted.model_.outputs(sparse), fitted.model_.outputs(X), atol=1e-8)
        np.testing.assert_allclose(fitted.predict(scipy.sparse.coo_matrix(X)), fitted.predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", ["linear", "network"])
def test_both_precisions(dtype, model):
    X, noisy, _, trusted = noisy_digits(300)
    fitted = classifier(model_of(model, 50)).fit(X.astype(dtype), noisy, trusted=trusted)
    expected = torch.float32 if dtype == np.float32 and model == "network" else torch.float64
    assert fitted.model_.theta.dtype == expected
    np.testing.assert_allclose(fitted.predict_proba(X.astype(dtype)).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("model", ["linear", "network"])
@pytest.mark.parametrize("scaling", ["column", "common", "none"])
def test_every_scaling_by_name(model, scaling):
    X, noisy, _, trusted = noisy_digits(200, k=3)
    learner = model_of(model, 30, scaling=scaling)
    assert np.isfinite(classifier(learner).fit(X, noisy, trusted=trusted).predict_proba(X)).all()
    if model == "linear":
        rows = scipy.sparse.csr_matrix(X)
        assert np.isfinite(classifier(learner).fit(rows, noisy, trusted=trusted).predict_proba(rows)).all()


def test_units_of_x_do_not_matter_to_the_network():
    X, noisy, _, trusted = noisy_digits(200, k=3)
    wide = np.column_stack([X, np.full((len(X), 64), 3.0)])  # constant columns change nothing either
    network = model_of("network", 30)
    reference = classifier(network).fit(X, noisy, trusted=trusted)
    norms = reference.model_.inputs.rows(X[~trusted]).square().sum(dim=1)
    assert float(norms.mean()) == pytest.approx(100)
    for scale in (1e-6, 1e6):
        other = classifier(network).fit(X * scale, noisy, trusted=trusted)
        np.testing.assert_allclose(other.sample_weight_, reference.sample_weight_, atol=1e-6)
    inputs = classifier("network").fit(wide, noisy, trusted=trusted).model_.inputs
    assert float(inputs.rows(wide[~trusted]).square().sum(dim=1).mean()) == pytest.approx(100)


def test_rows_that_came_apart_are_fitted_together():
    X, noisy, y, trusted = noisy_digits(300)
    joined, labels, mask = stack(X[~trusted], noisy[~trusted], X[trusted], y[trusted])
    fitted = classifier().fit(joined, labels, trusted=mask)
    np.testing.assert_array_equal(fitted.trusted_, mask)
    raw = fitted.references_["raw"].predict(X[trusted]) == y[trusted]
    assert fitted.score(X[trusted], y[trusted]) >= raw.mean()


@pytest.mark.parametrize(
    ("learner", "kind"),
    [(Network(), np.ndarray), (Linear(), np.ndarray), (Wrapped(Ridge()), AnyRows)],
    ids=["network", "linear", "wrapped"],
)
def test_rows_as_the_learner_takes_them(learner, kind):
    estimator = PGSRegressor(learner)
    frame = pd.DataFrame({"u": [1, 2, 3], "v": [4.0, 5.0, 6.0]})
    rows = rows_for(learner, estimator, frame, reset=True)
    assert isinstance(rows, kind)
    assert len(rows) == 3
    assert (estimator.n_features_in_, estimator.feature_names_in_.tolist()) == (2, ["u", "v"])
    assert isinstance(rows_of(estimator, frame[:2]), kind)
    with pytest.raises(ValueError, match="feature names should match"):
        rows_of(estimator, frame.rename(columns={"u": "w"}))


def test_sparse_rows_for_whom_they_are():
    rows = scipy.sparse.coo_matrix(np.eye(3))
    checked = rows_for(Linear(), PGSRegressor("linear"), rows, reset=True)
    assert isinstance(checked, scipy.sparse.csr_array)
    with pytest.raises(
        ValueError, match=r"X: sparse rows need a linear model, got model='network'; use model='linear'"
    ):
        rows_for(Network(), PGSRegressor("network"), rows, reset=True)
    with pytest.raises(ValueError, match=r"X: BaselineRegressor takes no sparse rows; hand over X\.toarray\(\)"):
        check_rows(BaselineRegressor(), rows, reset=True, sparse=False, allow_nd=False)


def test_rows_in_a_file_stay_there(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(6.0).reshape(3, 2))
    np.save(tmp_path / "whole.npy", np.arange(6).reshape(3, 2))
    estimator = PGSRegressor(search="free")
    floats = rows_for(Linear(), estimator, np.load(tmp_path / "X.npy", mmap_mode="r"), reset=True)
    assert isinstance(floats, np.memmap)
    whole = rows_for(Linear(), estimator, np.load(tmp_path / "whole.npy", mmap_mode="r"), reset=True)
    assert isinstance(whole, ArrayRows)
    assert whole.dtype == np.float64
    with pytest.raises(ValueError, match="BaselineRegressor takes rows in memory, got ArrayRows; pass an array"):
        check_rows(BaselineRegressor(), whole, reset=True, sparse=False, allow_nd=False)
