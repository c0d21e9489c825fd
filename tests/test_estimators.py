"""What a user sees: inputs of every kind, fitted attributes, fall back, bad input, edge cases, reproducibility."""

import copy
import pickle
import random
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import safegain
from safegain import (
    Bootstrap,
    Cholesky,
    ConjugateGradient,
    MultiMeasure,
    Neumann,
    PerClass,
    PerGroup,
    PerView,
    PGSClassifier,
    PGSRegressor,
    Unrolled,
    stack,
)
from tests.problems import numpy_state


def noisy_digits(n=500, k=10, seed=0):
    """(X, noisy y, true y, trusted): every other weak row has a wrong label."""
    X, y = load_digits(n_class=k, return_X_y=True)
    X, y = X[:n], y[:n]
    trusted = np.arange(len(y)) % 3 == 0
    wrong = ~trusted & (np.arange(len(y)) % 2 == 0)
    noisy = np.where(wrong, (y + np.random.RandomState(seed).randint(1, k, len(y))) % k, y)
    return X, noisy, y, trusted


def noisy_diabetes(seed=0):
    X, y = load_diabetes(return_X_y=True)
    trusted = np.arange(len(y)) % 4 == 0
    noise = np.random.RandomState(seed).randn(len(y)) * 150 * (np.arange(len(y)) % 2)
    return X, np.where(trusted, y, y + noise), y, trusted


PAPER = {"search_space": "free", "reference": "raw"}


def classifier(**settings):
    return PGSClassifier(**{"model": "softmax", **PAPER, "n_outer": 3, "random_state": 0} | settings)


def regressor(**settings):
    return PGSRegressor(**{**PAPER, "n_outer": 5, "random_state": 0} | settings)


# --- the job itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_classifier_gains_on_rows_it_never_saw(model):
    X, noisy, y, trusted = noisy_digits(1200)
    Xt, yt = (part[1200:] for part in load_digits(return_X_y=True))
    fitted = classifier(model=model, n_outer=8, n_inner=150, lr_outer=0.2).fit(X, noisy, trusted=trusted)
    raw = (fitted.raw_model_.predict(Xt) == yt).mean()
    assert fitted.score(Xt, yt) > raw + 0.03
    weak = ~trusted
    clean = noisy == y
    assert fitted.sample_weight_[weak & clean].mean() > fitted.sample_weight_[weak & ~clean].mean() + 0.2
    issues = fitted.label_issues()
    assert list(issues.columns) == ["row", "given", "suggested", "confidence", "weight"]
    assert (~clean[issues["row"].head(50)]).mean() > 0.8
    assert not trusted[issues["row"]].any()
    assert (issues["suggested"] != issues["given"]).all()
    assert (issues["suggested"].head(50) == y[issues["row"].head(50)]).mean() > 0.25


def test_regressor_gains_on_rows_it_never_saw():
    random_state = np.random.RandomState(0)
    X = random_state.randn(900, 5)
    y = X @ [1, -2, 0.5, 0, 3] + 0.1 * random_state.randn(900)
    noisy = y + np.where(np.arange(900) % 2, 6 * random_state.randn(900), 0)
    trusted = np.arange(900) < 100
    fitted = regressor(n_outer=20).fit(X[:600], np.where(trusted, y, noisy)[:600], trusted=trusted[:600])
    raw, new = (((m.predict(X[600:]) - y[600:]) ** 2).mean() for m in (fitted.raw_model_, fitted))
    assert new < 0.8 * raw
    issues = fitted.label_issues()
    assert len(issues) == 500  # every weak row was moved a little
    doubt = 1 - issues["weight"] * (1 - issues["confidence"])
    assert doubt.is_monotonic_decreasing
    np.testing.assert_allclose(issues["suggested"] - issues["given"], fitted.label_shift_[issues["row"]])


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_unlabelled_rows_are_searched_and_labelled_ones_kept(model):
    X, _, y, trusted = noisy_digits(600)
    bare = ~trusted & (np.arange(600) % 5 != 1)
    given = np.where(bare, -1, y)
    settings = {"model": model, "n_inner": 100, "scaling": "none" if model == "softmax" else "auto"}
    fitted = classifier(**settings).fit(X, given, trusted=trusted)
    kept = ~bare
    assert (fitted.sample_weight_[kept] == 1).all()
    np.testing.assert_array_equal(fitted.label_distribution_[kept], np.eye(10)[y[kept]])
    assert (fitted.corrected_labels_[bare] == y[bare]).mean() > 0.6
    assert fitted.label_issues().empty  # no label to suspect, or one that is kept
    if model == "softmax":  # the raw model knows the labelled rows alone
        raw = classifier(**settings).fit(X[kept], y[kept], trusted=trusted[kept]).raw_model_
        np.testing.assert_allclose(fitted.raw_model_.theta, raw.theta, rtol=1e-5, atol=1e-6)


def test_the_search_over_unlabelled_rows_starts_from_the_raw_prediction():
    X, _, y, trusted = noisy_digits(400)
    bare = ~trusted & (np.arange(400) % 2 == 0)
    fitted = classifier(n_outer=1, lr_outer=1e-9).fit(X, np.where(bare, -1, y), trusted=trusted)
    if fitted.model_ is fitted.raw_model_:
        assert (fitted.sample_weight_[bare] == 0).all()  # the raw model used none of them
    np.testing.assert_allclose(
        fitted.label_distribution_[bare], fitted.raw_model_.predict_proba(X[bare]), rtol=1e-6, atol=1e-7
    )
    Xr, _, yr, trusted = noisy_diabetes()
    bare = ~trusted & (np.arange(len(yr)) % 2 == 0)
    fitted = regressor(n_outer=1, lr_outer=1e-9).fit(Xr, np.where(bare, np.nan, yr), trusted=trusted)
    np.testing.assert_allclose(fitted.corrected_labels_[bare], fitted.raw_model_.predict(Xr[bare]), rtol=1e-6)
    np.testing.assert_array_equal(fitted.corrected_labels_[~bare], yr[~bare])


def test_no_iterate_that_is_unsafe_is_returned(monkeypatch):
    """With every iterate made worse on one set, the raw model comes back, bit for bit."""
    X, noisy, _, trusted = noisy_digits(400)
    from safegain.bilevel.upper import UpperLevel

    plain, calls = UpperLevel.losses, []

    def worse_after_the_first(self, theta):
        calls.append(1)
        losses = plain(self, theta)
        return losses if len(calls) <= 2 else losses + torch.tensor([0.0, 1e3, 0.0])  # the raw model is step 0 too

    monkeypatch.setattr(UpperLevel, "losses", worse_after_the_first)
    fitted = classifier().fit(X, noisy, trusted=trusted)
    assert fitted.safeness_.fell_back
    assert fitted.model_ is fitted.raw_model_
    assert [record["safe"] for record in fitted.history_] == [True, False, False, False]
    assert "no iterate was safe on all 3 validation sets" in fitted.safeness_.status
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.raw_model_.predict_proba(X))
    np.testing.assert_array_equal(fitted.corrected_labels_, noisy)


def test_history_and_report_tell_what_happened():
    X, noisy, _, trusted = noisy_digits(400)
    fitted = classifier(n_outer=4).fit(X, noisy, trusted=trusted)
    assert fitted.n_iter_ == 4
    assert [record["step"] for record in fitted.history_] == [0, 1, 2, 3, 4]
    for record in fitted.history_:
        assert set(record) >= {"objective", "margins", "rank_loss", "safe", "violation", "seconds"}
        assert record["violation"] <= 1e-9
        assert set(record["margins"]) == {"bootstrap 1", "bootstrap 2", "bootstrap 3"}
    chosen = fitted.history_[fitted.safeness_.step]
    for s in fitted.safeness_.sets:
        assert s.margin == pytest.approx(s.raw_loss - s.new_loss)
        assert s.margin == pytest.approx(chosen["margins"][s.name])
    assert chosen["rank_loss"] == min(r["rank_loss"] for r in fitted.history_ if r["safe"])
    assert "not a certificate" in str(fitted.safeness_)


def test_the_report_of_a_regression_is_in_the_users_units():
    X, noisy, _, trusted = noisy_diabetes()
    near, far = (regressor().fit(X, noisy * c, trusted=trusted) for c in (1, 1000))
    for a, b in zip(near.safeness_.sets, far.safeness_.sets, strict=True):
        assert b.raw_loss == pytest.approx(1e6 * a.raw_loss, rel=1e-6)
    np.testing.assert_allclose(far.label_shift_, 1000 * near.label_shift_, rtol=1e-6, atol=1e-6)
    absolute = regressor(safeness=MultiMeasure("absolute_error")).fit(X, noisy, trusted=trusted)
    assert 30 < absolute.safeness_.sets[0].raw_loss < 90  # a mean absolute error of diabetes progression


# --- ways in ------------------------------------------------------------------------------------------------------


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
    dense_view = make(scaling="none").fit(X, noisy, trusted=trusted)
    rows = scipy.sparse.csr_matrix(X)
    d = X.shape[1]
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csr_array):
        plain = kind.toarray
        # Only (d, d) grams may ever be written out.
        monkeypatch.setattr(kind, "toarray", lambda s, plain=plain: plain(s) if s.shape == (d, d) else 1 / 0)
    fitted = make(scaling="none").fit(rows, noisy, trusted=trusted)
    np.testing.assert_allclose(fitted.sample_weight_, dense_view.sample_weight_, atol=1e-6)
    assert len(fitted.predict(rows)) == len(noisy)
    assert make().fit(rows, noisy, trusted=trusted).safeness_.sets
    views = PerView({"a": range(0, 5), "b": range(5, d)})
    by_view = make(safeness=views, scaling="none").fit(rows, noisy, trusted=trusted)
    dense = make(safeness=views, scaling="none").fit(X, noisy, trusted=trusted)
    for a, b in zip(by_view.safeness_.sets, dense.safeness_.sets, strict=True):
        assert a.raw_loss == pytest.approx(b.raw_loss, rel=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_both_precisions(dtype, model):
    X, noisy, _, trusted = noisy_digits(300)
    fitted = classifier(model=model, n_inner=50).fit(X.astype(dtype), noisy, trusted=trusted)
    expected = torch.float32 if dtype == np.float32 and model == "mlp" else torch.float64
    assert fitted.model_.theta.dtype == expected
    np.testing.assert_allclose(fitted.predict_proba(X.astype(dtype)).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, rtol=1e-5)


def test_any_module_is_a_model():
    X, noisy, _, trusted = noisy_digits(300)
    images = X.reshape(-1, 1, 8, 8).astype(np.float32) / 16
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Dropout(0.5),
        torch.nn.Linear(144, 10),
    )  # fmt: skip
    before = copy.deepcopy(net.state_dict())
    fitted = PGSClassifier(net, n_inner=60, n_outer=4, random_state=0).fit(images, noisy, trusted=trusted)
    assert fitted.predict(images).shape == (300,)
    assert not fitted.safeness_.fell_back
    assert fitted.model_.model.decayed.tolist() == [1] * 36 + [0] * 12 + [1] * 1440 + [0] * 10
    assert net.training
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name])
    Xr, yr, _, tr = noisy_diabetes()
    line = torch.nn.Sequential(torch.nn.Linear(10, 1), torch.nn.Flatten(0))
    assert PGSRegressor(line, n_inner=30, n_outer=2, random_state=0).fit(Xr, yr, trusted=tr).predict(Xr).shape == (442,)
    binary = noisy_digits(200, k=2)
    one_logit = PGSClassifier(torch.nn.Linear(64, 1), n_inner=30, n_outer=2, random_state=0)
    assert one_logit.fit(binary[0], binary[1], trusted=binary[3]).predict_proba(binary[0]).shape == (len(binary[1]), 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"solver": "gd", "n_inner": 40},
        {"solver": "momentum", "n_inner": 40, "batch_size": 64, "lr_inner": 0.05},
        {"solver": "rmsprop", "n_inner": 40, "engine": "truncated"},
        {"solver": "adam", "n_inner": 40, "engine": Unrolled(last=5)},
        {"engine": "cg"},
        {"engine": ConjugateGradient(damping=0.01, max_iter=20)},
        {"engine": "neumann"},
        {"engine": Neumann(terms=5)},
        {"engine": Cholesky(damping=0.1)},
        {"solver": "gd", "n_inner": 40, "engine": "cholesky"},
        {"penalty": "hinge", "penalty_weight": 5.0},
        {"eps1": 300.0, "eps2": 0.2},
    ],
)
def test_every_solver_and_engine_by_name_and_as_object(settings):
    X, noisy, true, trusted = noisy_digits(500, k=3)
    fitted = classifier(**settings).fit(X, noisy, trusted=trusted)
    assert all(record["violation"] <= 1e-9 for record in fitted.history_)
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert not fitted.safeness_.fell_back
    assert fitted.score(X[trusted], noisy[trusted]) >= 0.8
    clean = ~trusted & (noisy == true)
    assert fitted.sample_weight_[clean].mean() > fitted.sample_weight_[~trusted & (noisy != true)].mean() + 0.01
    if settings.get("engine") == "cg":
        assert fitted.history_[0]["cg_residual"] <= 1e-6


def test_eps_bounds_hold_and_bind():
    X, noisy, _, trusted = noisy_digits(400)
    n = (~trusted).sum()
    tight = classifier(n_outer=6, eps1=0.9 * n, eps2=0.05, lr_outer=0.3).fit(X, noisy, trusted=trusted)
    assert tight.sample_weight_[~trusted].sum() >= 0.9 * n - 1e-6
    kept = tight.label_distribution_[np.arange(400), noisy][~trusted]
    assert (1 - kept).mean() <= 0.05 + 1e-9
    frozen = classifier(n_outer=3, eps1=float(n), eps2=0.0).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(frozen.corrected_labels_, noisy)
    Xr, yr, _, tr = noisy_diabetes()
    shifted = regressor(eps2=40.0).fit(Xr, yr, trusted=tr)
    assert np.linalg.norm(shifted.label_shift_) <= 40 * (1 + 1e-9)
    assert np.linalg.norm(shifted.label_shift_) > 30


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_label_in_every_spelling(missing):
    X, noisy, _, trusted = noisy_digits(300, k=3)
    bare = ~trusted & (np.arange(len(noisy)) % 2 == 0)
    for values in (noisy.astype(object), np.array(["x", "y", "z"], dtype=object)[noisy]):
        given = values.copy()
        given[bare] = missing
        fitted = classifier().fit(X, given, trusted=trusted)
        assert len(fitted.classes_) == 3
        np.testing.assert_array_equal(fitted._labels.labelled, ~bare)
        np.testing.assert_array_equal(
            classifier().fit(X, list(given), trusted=trusted).sample_weight_, fitted.sample_weight_
        )


def test_minus_one_is_no_label_but_never_half_of_two_classes():
    X, noisy, _, trusted = noisy_digits(300, k=2)
    signs = np.where(noisy == 1, 1, -1)
    for given in (signs, signs.astype(float)):
        both = classifier().fit(X, given, trusted=trusted)
        assert both.classes_.tolist() == [-1, 1]
        assert both._labels.labelled.all()
    Xs, ys, _, ts = noisy_digits(300, k=3)
    bare = ~ts & (np.arange(len(ys)) % 2 == 0)
    semi = classifier().fit(Xs, np.where(bare, -1, ys), trusted=ts)
    assert semi.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(semi._labels.labelled, ~bare)
    with_nan = np.where(bare, np.nan, ys)
    assert classifier().fit(Xs, with_nan, trusted=ts).classes_.tolist() == [0, 1, 2]


def test_without_trusted_rows_some_labelled_ones_are_held_out():
    X, noisy, _, _ = noisy_digits(500)
    noisy = noisy.copy()
    noisy[::3] = -1
    fitted = classifier(validation_fraction=0.3).fit(X, noisy)
    assert 0.15 < fitted.trusted_.mean() < 0.25
    assert not fitted.trusted_[::3].any()


def test_stack_joins_what_came_apart():
    X, noisy, y, trusted = noisy_digits(300)
    joined, labels, mask = stack(X[~trusted], noisy[~trusted], X[trusted], y[trusted])
    fitted = classifier().fit(joined, labels, trusted=mask)
    assert mask.sum() == trusted.sum()
    frame = pd.DataFrame(X)
    together, _, _ = stack(frame[~trusted], noisy[~trusted], frame[trusted], y[trusted])
    assert isinstance(together, pd.DataFrame)
    np.testing.assert_array_equal(together.to_numpy(), joined)
    sparse, _, _ = stack(scipy.sparse.csr_matrix(X[~trusted]), noisy[~trusted], X[trusted], y[trusted])
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), joined)
    tensors, _, _ = stack(torch.from_numpy(X[~trusted]), noisy[~trusted], X[trusted], y[trusted])
    assert isinstance(tensors, torch.Tensor)
    mixed = stack([[1.0], [2.0]], ["b", np.nan], [[2.0]], ["a"])[1]
    assert mixed[[0, 2]].tolist() == ["b", "a"]
    assert pd.isna(mixed[1])
    assert fitted.score(X[trusted], y[trusted]) >= fitted.raw_model_.predict(X[trusted]).__eq__(y[trusted]).mean()
    with pytest.raises(ValueError, match="y_trusted: has 1 labels for 2 rows"):
        stack([[1.0]], [0], [[2.0], [3.0]], [1])
    with pytest.raises(ValueError, match="columns of X"):
        stack(frame, noisy, frame.rename(columns={0: "zero"}), y)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_sparse_and_dense_rows_predict_alike_whichever_was_fitted(make):
    X, noisy, _, trusted = noisy_digits(200, k=3) if make is classifier else noisy_diabetes()
    X, sparse = X + 5, scipy.sparse.csr_matrix(X + 5)
    for fitted in (make().fit(X, noisy, trusted=trusted), make().fit(sparse, noisy, trusted=trusted)):
        np.testing.assert_allclose(fitted.model_.outputs(sparse), fitted.model_.outputs(X), atol=1e-8)
        np.testing.assert_allclose(fitted.predict(scipy.sparse.coo_matrix(X)), fitted.predict(X))


@pytest.mark.parametrize("model", ["softmax", "mlp"])
@pytest.mark.parametrize("scaling", ["column", "common", "none"])
def test_every_scaling_by_name(model, scaling):
    X, noisy, _, trusted = noisy_digits(200, k=3)
    settings = {"model": model, "scaling": scaling, "n_inner": 30}
    assert np.isfinite(classifier(**settings).fit(X, noisy, trusted=trusted).predict_proba(X)).all()
    if model == "softmax":
        rows = scipy.sparse.csr_matrix(X)
        assert np.isfinite(classifier(**settings).fit(rows, noisy, trusted=trusted).predict_proba(rows)).all()


def test_units_of_x_do_not_matter_to_the_network():
    X, noisy, _, trusted = noisy_digits(200, k=3)
    wide = np.column_stack([X, np.full((len(X), 64), 3.0)])  # constant columns change nothing either
    reference = classifier(model="mlp", n_inner=30).fit(X, noisy, trusted=trusted)
    norms = reference.model_.inputs.rows(X[~trusted]).square().sum(dim=1)
    assert float(norms.mean()) == pytest.approx(100)
    for scale in (1e-6, 1e6):
        other = classifier(model="mlp", n_inner=30).fit(X * scale, noisy, trusted=trusted)
        np.testing.assert_allclose(other.sample_weight_, reference.sample_weight_, atol=1e-6)
    assert float(
        classifier(model="mlp")
        .fit(wide, noisy, trusted=trusted)
        .model_.inputs.rows(wide[~trusted])
        .square()
        .sum(dim=1)
        .mean()
    ) == pytest.approx(100)


def test_many_columns_never_meet_a_square_matrix(monkeypatch):
    random_state = np.random.RandomState(0)
    X = scipy.sparse.random(150, 4000, density=0.01, format="csr", random_state=random_state)
    y = np.asarray(X @ random_state.randn(4000))
    monkeypatch.setattr("safegain.data.design.SparseDesign.gram", None)
    assert finite(regressor(n_outer=2).fit(X, y, trusted=range(50)), X)


def test_negative_curvature_is_reported():
    X, noisy, _, trusted = noisy_digits(200, k=3)
    fitted = PGSClassifier(**PAPER, n_hidden=5, n_inner=30, n_outer=2, engine=ConjugateGradient(), random_state=0)
    fitted.fit(X, noisy, trusted=trusted)
    assert any("negative_curvature" in record for record in fitted.history_)
    assert all(record.get("negative_curvature", -1) <= 0 for record in fitted.history_)


def test_the_trusted_rows_as_a_whole_never_lose():
    """Bootstrap samples may leave rows out; the returned model is still no worse on all trusted rows."""
    X, noisy, _, _ = noisy_digits(60, k=3)
    for seed in range(30):
        trusted = np.random.RandomState(seed).permutation(60)[:8]
        if len(np.unique(np.delete(noisy, trusted))) < 3:
            continue
        fitted = classifier(n_outer=4, lr_outer=0.4, random_state=seed).fit(X, noisy, trusted=trusted)
        raw, new = (
            -np.log(m.predict_proba(X[trusted])[np.arange(8), noisy[trusted]]).mean()
            for m in (fitted.raw_model_, fitted)
        )
        assert new <= raw + 1e-12


# --- safeness definitions through fit -----------------------------------------------------------------------------


def test_a_view_holds_only_the_other_views_columns_at_their_mean():
    X, noisy, _, trusted = noisy_digits(300, k=3)
    views = PerView({"top": range(0, 30), "bottom": range(30, 60)})  # columns 60..63 are in no view
    fitted = classifier(safeness=views, selection_fraction=0.0).fit(X, noisy, trusted=trusted)
    masked = X[trusted].copy()
    masked[:, 30:60] = X[~trusted].mean(axis=0)[30:60]
    p = fitted.raw_model_.predict_proba(masked)[np.arange(trusted.sum()), noisy[trusted]]
    assert fitted.safeness_.sets[0].raw_loss == pytest.approx(-np.log(p).mean())
    one = classifier(safeness=PerView({"top": [0]}), selection_fraction=0.0).fit(X, noisy, trusted=trusted)
    p = one.raw_model_.predict_proba(X[trusted])[np.arange(trusted.sum()), noisy[trusted]]
    assert one.safeness_.sets[0].raw_loss == pytest.approx(-np.log(p).mean())  # no other view to hold
    with pytest.raises(ValueError, match="X has no column True"):
        classifier(safeness=PerView({"mask": [True, False]})).fit(X, noisy, trusted=trusted)


def test_a_rare_group_is_never_lost():
    X, noisy, _, trusted = noisy_digits(300, k=3)
    groups = np.full(len(noisy), "common")
    groups[np.flatnonzero(trusted)[:2]] = "rare"
    for seed in range(5):
        fitted = classifier(safeness=PerGroup(), n_outer=1, random_state=seed).fit(
            X, noisy, trusted=trusted, groups=groups
        )
        assert [s.name for s in fitted.safeness_.sets] == ["group common", "group rare"]
    groups[np.flatnonzero(~trusted)[0]] = "unseen"
    with pytest.raises(ValueError, match="PerGroup: no trusted row is in group 'unseen'"):
        classifier(safeness=PerGroup()).fit(X, noisy, trusted=trusted, groups=groups)


def test_definitions_combine_and_name_their_sets():
    X, noisy, _, trusted = noisy_digits(500, k=3)
    groups = np.where(np.arange(len(noisy)) % 2, "left", "right")
    frame = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    safeness = (
        Bootstrap(2)
        + PerClass(classes=[0, 2])
        + PerGroup()
        + PerView({"top": [f"p{i}" for i in range(32)], "bottom": range(32, 64)})
        + MultiMeasure("brier", "balanced_log_loss")
    )
    fitted = classifier(safeness=safeness, n_outer=4).fit(frame, noisy, trusted=trusted, groups=groups)
    names = [s.name for s in fitted.safeness_.sets]
    assert names == [
        "bootstrap 1", "bootstrap 2", "class 0", "class 2", "group left", "group right", "view top", "view bottom",
        "measure brier", "measure balanced_log_loss",
    ]  # fmt: skip
    if not fitted.safeness_.fell_back:
        assert all(s.margin >= 0 for s in fitted.safeness_.sets)


# --- bad input ----------------------------------------------------------------------------------------------------


def bad(X=None, y=None, trusted=None, **settings):
    good = noisy_digits(120, k=3)
    X = good[0] if X is None else X(good[0].copy()) if callable(X) else X
    y = good[1] if y is None else y(good[1].copy()) if callable(y) else y
    trusted = good[3] if trusted is None else trusted(good[3].copy()) if callable(trusted) else trusted
    return X, y, trusted, settings


def put(array, where, value):
    array = array.astype(float) if isinstance(value, float) else array.astype(object) if value is None else array
    array[where] = value
    return array


BAD = {
    "NaN names the column": (bad(X=lambda X: put(X, (5, 7), np.nan)), r"X: column 7 holds 1 NaN and 0 inf"),
    "inf names the column": (bad(X=lambda X: put(X, (5, 3), np.inf)), r"X: column 3 holds 0 NaN and 1 inf"),
    "NaN names the column of a frame": (
        bad(X=lambda X: pd.DataFrame(put(X, (5, 7), np.nan), columns=[f"f{i}" for i in range(64)])),
        r"X: column 'f7' holds 1 NaN",
    ),
    "NaN in sparse rows": (
        bad(X=lambda X: scipy.sparse.csr_matrix(put(X, (5, 9), np.nan)), model="softmax"),
        r"X: column 9",
    ),
    "mask of another length": (bad(trusted=lambda t: t[:-1]), r"trusted: the mask has 119 entries and X has 120"),
    "row numbers out of range": (bad(trusted=[0, 500]), r"trusted: row numbers must lie in 0\.\.119"),
    "row numbers twice": (bad(trusted=lambda t: t.astype(int)), r"trusted: a row number occurs twice"),
    "trusted of another kind": (bad(trusted=lambda t: t.astype(float)), r"trusted: must be a boolean mask"),
    "trusted row without a label": (
        bad(y=lambda y: put(y, 3, None), trusted=[0, 3, 6]),
        r"trusted: row 3 is trusted but has no label",
    ),
    "every row trusted": (bad(trusted=lambda t: np.ones(120, bool)), r"trusted: every row is trusted"),
    "class of trusted rows only": (
        bad(y=lambda y: np.where(np.arange(120) < 6, 2, y % 2), trusted=range(6)),
        r"y: class 2 has no labelled row outside the trusted rows",
    ),
    "category without a row": (
        bad(y=lambda y: pd.Series(pd.Categorical(y, categories=[0, 1, 2, 3]))),
        r"y: class 3 .* no row carries it",
    ),
    "one class": (bad(y=lambda y: np.zeros(120, int)), r"y: found one class only"),
    "no label at all": (bad(y=lambda y: np.full(120, np.nan)), r"y: no row has a label"),
    "one trusted row": (bad(trusted=[4]), r"trusted: found 1 trusted rows; at least 2"),
    "continuous labels": (bad(y=lambda y: y + 0.5 * np.sin(np.arange(120))), r"y: Unknown label type: continuous"),
    "eps1 too large": (bad(eps1=1e6), r"eps1: the weights of 80 weak rows cannot sum to"),
    "eps1 negative": (bad(eps1=-1.0), r"eps1"),
    "eps2 too large": (bad(eps2=1.5), r"eps2"),
    "no rows": (bad(X=np.empty((0, 3)), y=np.empty(0), trusted=np.empty(0, bool)), r"X: Found array with 0 sample"),
    "labels and rows of different length": (bad(y=lambda y: y[:-1]), r"y: has 119 labels and X has 120 rows"),
    "module with too few outputs": (
        bad(model=torch.nn.Linear(64, 2)),
        r"model: the module gives outputs of shape \(2, 2\) for 2 rows; it must give 3 logits",
    ),
    "module that does not take the rows": (
        bad(model=torch.nn.Linear(7, 3)),
        r"model: the module fails on a batch of shape \(2, 64\), with RuntimeError",
    ),
    "module without parameters": (bad(model=torch.nn.Flatten()), r"model: the module has no parameters"),
    "a Hessian too large to factor": (bad(engine="cholesky", n_hidden=400), r"engine: 'cholesky' would factor"),
    "an indefinite Hessian": (bad(engine="cholesky", n_hidden=5, n_inner=30), r"engine: the Hessian .* not positive"),
    "sparse rows for a network": (
        bad(X=lambda X: scipy.sparse.csr_matrix(X), model="mlp"),
        r"X: sparse rows need a linear model",
    ),
    "groups missing": (bad(safeness=PerGroup(), model="softmax"), r"PerGroup: needs the group of every row"),
    "view of an unknown column": (bad(safeness=PerView({"a": ["nose"]}), model="softmax"), r"no column 'nose'"),
    "class that no trusted row has": (bad(safeness=PerClass([7]), model="softmax"), r"no trusted row has class 7"),
    "measure of the other task": (
        bad(safeness=MultiMeasure("squared_error"), model="softmax"),
        r"squared_error does not fit",
    ),
    "closed form for classes": (bad(solver="closed-form"), r"solver: ClosedForm is for a linear model of numbers"),
    "unrolled without steps": (
        bad(model="softmax", engine="unrolled"),
        r"engine: 'unrolled' and 'truncated' walk back",
    ),
    "diverging descent": (
        bad(model="mlp", lr_inner=1e6, n_inner=300),
        r"lr_inner: training on the raw labels diverged",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_and_leaves_the_estimator_unfitted(name):
    (X, y, trusted, settings), message = BAD[name]
    estimator = PGSClassifier(**{**PAPER, "n_inner": 5, "n_outer": 1} | settings)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y, trusted=trusted)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    assert not hasattr(estimator, "n_features_in_")


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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Unrolled(last=0), "last must be at least 1"),
        (lambda: Neumann(terms=0), "terms must be at least 1"),
        (lambda: Neumann(step=-1.0), "step must be positive"),
        (lambda: ConjugateGradient(max_iter=0), "max_iter must be at least 1"),
        (lambda: ConjugateGradient(tol=0.0), "tol must be positive"),
        (lambda: Cholesky(damping=-1.0), "damping must not be negative"),
    ],
)
def test_engines_check_their_settings(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_failed_refit_keeps_the_old_fit():
    X, noisy, _, trusted = noisy_digits(200)
    fitted = classifier().fit(X, noisy, trusted=trusted)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="mask"):
        fitted.fit(X[:, :5], noisy, trusted=trusted[:3])
    np.testing.assert_array_equal(fitted.predict(X), before)


# --- edges: no crash, no NaN in the outcome -----------------------------------------------------------------------


def finite(fitted, X):
    outcome = fitted.predict_proba(X) if isinstance(fitted, PGSClassifier) else fitted.predict(X)
    labels = getattr(fitted, "label_distribution_", getattr(fitted, "label_shift_", None))
    return all(np.isfinite(part).all() for part in (outcome, fitted.sample_weight_, labels))


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_hard_classification_rows(model):
    X, noisy, _, trusted = noisy_digits(300, k=4)
    n = len(noisy)
    constant, huge, repeated = X.copy(), X.copy(), X.copy()
    constant[:, :30] = 7.0
    constant[:, 30] = 1e12
    huge *= np.where(np.arange(64) % 2, 1e12, 1e-12)
    repeated[: n // 2] = repeated[0]
    lone = noisy.copy()
    lone[1] = 9  # row 1 is weak
    settings = {"model": model, "n_inner": 60, "n_outer": 2}
    for rows, labels, chosen in [
        (constant, noisy, trusted),
        (huge, noisy, trusted),
        (repeated, noisy, trusted),
        (np.zeros_like(X), noisy, trusted),
        (X, noisy, [2, 3]),
        (X, lone, trusted),
    ]:
        assert finite(classifier(**settings).fit(rows, labels, trusted=chosen), rows)


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_two_hundred_classes(model):
    random_state = np.random.RandomState(0)
    y = np.repeat(np.arange(200), 4)
    X = random_state.randn(200, 6)[y] + 0.1 * random_state.randn(800, 6)
    trusted = np.arange(800) % 4 == 0
    assert finite(classifier(model=model, n_inner=20, n_outer=2).fit(X, y, trusted=trusted), X)


@pytest.mark.parametrize("model", ["ridge", "mlp"])
def test_hard_regression_rows(model):
    X, noisy, _, trusted = noisy_diabetes()
    constant, huge = X.copy(), X * np.where(np.arange(10) % 2, 1e12, 1e-12)
    constant[:, :5] = 1e12
    settings = {"model": model, "n_inner": 60, "n_outer": 2}
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
        assert finite(regressor(**settings).fit(rows, labels, trusted=chosen), rows)


# --- conduct ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: classifier(model="mlp", n_inner=40, solver="adam", batch_size=50),
        lambda: classifier(),
        lambda: regressor(),
    ],
)
def test_same_seed_same_bits(make):
    X, noisy, _, trusted = noisy_digits(300) if isinstance(make(), PGSClassifier) else noisy_diabetes()
    first, second = (make().fit(X, noisy, trusted=trusted) for _ in range(2))
    assert torch.equal(first.model_.theta, second.model_.theta)
    np.testing.assert_array_equal(first.sample_weight_, second.sample_weight_)
    np.testing.assert_array_equal(first.corrected_labels_, second.corrected_labels_)
    other = make().set_params(random_state=1).fit(X, noisy, trusted=trusted)
    assert not np.array_equal(first.sample_weight_, other.sample_weight_)


def test_nothing_of_the_users_is_touched():
    X, noisy, _, trusted = noisy_digits(300)
    kept = X.copy(), noisy.copy(), trusted.copy()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    states = random.getstate(), numpy_state(), torch.get_rng_state()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    for part in (X, noisy, trusted):
        part.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = classifier(model="mlp", n_inner=20, solver="adam", batch_size=30).fit(X, noisy, trusted=trusted)
        fitted.predict(X)
        fitted.label_issues()
    for part, before in zip((X, noisy, trusted), kept, strict=True):
        np.testing.assert_array_equal(part, before)
    assert random.getstate() == states[0]
    assert numpy_state() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)


def test_works_where_gradients_are_switched_off():
    X, noisy, _, trusted = noisy_digits(200)
    with torch.no_grad():
        off = classifier(model="mlp", n_inner=20).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(
        off.sample_weight_, classifier(model="mlp", n_inner=20).fit(X, noisy, trusted=trusted).sample_weight_
    )


def test_callbacks_watch_and_stop(capsys):
    X, noisy, _, trusted = noisy_digits(200)
    seen = []
    fitted = classifier(n_outer=9, callbacks=[lambda r, _: r["step"] == 2, lambda r, _: seen.append(r)], verbose=1)
    fitted.fit(X, noisy, trusted=trusted)
    assert fitted.n_iter_ == 2
    assert [record["step"] for record in seen] == [0, 1, 2]
    assert "a callback asked for it" in fitted.safeness_.status
    assert "searching" in capsys.readouterr().err
    classifier(n_outer=1).fit(X, noisy, trusted=trusted)
    assert capsys.readouterr() == ("", "")


def test_pickle_keeps_the_predictions():
    X, noisy, _, trusted = noisy_digits(200)
    fitted = classifier().fit(X, noisy, trusted=trusted)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.safeness_ == fitted.safeness_


def test_all_names_what_is_there():
    assert sorted(safegain.__all__) == safegain.__all__
    for name in safegain.__all__:
        assert getattr(safegain, name).__doc__
