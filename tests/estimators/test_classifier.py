"""Classes: gains, rows without a label in every spelling, bounds, and models of every kind."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits

from safegain import (
    Adam,
    Cholesky,
    ConjugateGradient,
    Descent,
    Linear,
    Module,
    Momentum,
    Neumann,
    PGSRegressor,
    RMSProp,
    Unrolled,
)
from safegain.data.labels import classification_labels
from safegain.data.storage import IN_MEMORY
from safegain.estimators.classifier import PGSClassifier
from safegain.search.outcome import Choice
from tests.estimators.samples import classifier, finite, model_of, noisy_diabetes, noisy_digits, regressor


@pytest.mark.parametrize("model", ["linear", "network"])
def test_classifier_gains_on_rows_it_never_saw(model):
    X, noisy, y, trusted = noisy_digits(1200)
    Xt, yt = (part[1200:] for part in load_digits(return_X_y=True))
    fitted = classifier(model_of(model, 150), n_outer=8, search={"lr_outer": 0.2}).fit(X, noisy, trusted=trusted)
    raw = (fitted.references_["raw"].predict(Xt) == yt).mean()
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


@pytest.mark.parametrize("model", ["linear", "network"])
def test_unlabelled_rows_are_searched_and_labelled_ones_kept(model):
    X, _, y, trusted = noisy_digits(600)
    bare = ~trusted & (np.arange(600) % 5 != 1)
    given = np.where(bare, -1, y)
    learner = model_of(model, 100, scaling="none" if model == "linear" else "auto")
    paper = {"semi_supervised": True}
    fitted = classifier(learner, search=paper).fit(X, given, trusted=trusted)
    kept = ~bare
    assert (fitted.sample_weight_[kept] == 1).all()
    np.testing.assert_array_equal(fitted.label_distribution_[kept], np.eye(10)[y[kept]])
    assert (fitted.corrected_labels_[bare] == y[bare]).mean() > 0.6
    assert fitted.label_issues().empty  # no label to suspect, or one that is kept
    if model == "linear":  # the raw model knows the labelled rows alone
        raw = classifier(learner).fit(X[kept], y[kept], trusted=trusted[kept]).references_["raw"]
        np.testing.assert_allclose(fitted.references_["raw"].theta, raw.theta, rtol=1e-5, atol=1e-6)


def test_the_search_over_unlabelled_rows_starts_from_the_raw_prediction():
    X, _, y, trusted = noisy_digits(400)
    bare = ~trusted & (np.arange(400) % 2 == 0)
    fitted = classifier(n_outer=1, search={"lr_outer": 1e-9}).fit(X, np.where(bare, -1, y), trusted=trusted)
    if fitted.model_ is fitted.references_["raw"]:
        assert (fitted.sample_weight_[bare] == 0).all()  # the raw model used none of them
    np.testing.assert_allclose(
        fitted.label_distribution_[bare], fitted.references_["raw"].predict_proba(X[bare]), rtol=1e-6, atol=1e-7
    )
    Xr, _, yr, trusted = noisy_diabetes()
    bare = ~trusted & (np.arange(len(yr)) % 2 == 0)
    fitted = regressor(n_outer=1, search={"lr_outer": 1e-9}).fit(Xr, np.where(bare, np.nan, yr), trusted=trusted)
    np.testing.assert_allclose(fitted.corrected_labels_[bare], fitted.references_["raw"].predict(Xr[bare]), rtol=1e-6)
    np.testing.assert_array_equal(fitted.corrected_labels_[~bare], yr[~bare])


def test_eps_bounds_hold_and_bind():
    X, noisy, _, trusted = noisy_digits(400)
    n = (~trusted).sum()
    points = []
    limits = {"eps1": 0.9 * n, "eps2": 0.05, "lr_outer": 0.3, "callbacks": [lambda _, each: points.append(each.point)]}
    tight = classifier(n_outer=6, search=limits).fit(X, noisy, trusted=trusted)
    assert tight.sample_weight_[~trusted].sum() >= 0.9 * n - 1e-6
    for point in points:
        moved = 1 - point.Q.numpy()[np.arange(n), noisy[~trusted]]
        assert moved.mean() <= 0.05 + 1e-9
    assert moved.mean() > 0.04
    frozen = classifier(search={"eps1": float(n), "eps2": 0.0}).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(frozen.corrected_labels_, noisy)
    Xr, yr, _, tr = noisy_diabetes()
    shifted = regressor(search={"eps2": 40.0}).fit(Xr, yr, trusted=tr)
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
        np.testing.assert_array_equal(fitted.record_.labels.labelled, ~bare)
        np.testing.assert_array_equal(
            classifier().fit(X, list(given), trusted=trusted).sample_weight_, fitted.sample_weight_
        )


def test_minus_one_is_no_label_but_never_half_of_two_classes():
    X, noisy, _, trusted = noisy_digits(300, k=2)
    signs = np.where(noisy == 1, 1, -1)
    for given in (signs, signs.astype(float)):
        both = classifier().fit(X, given, trusted=trusted)
        assert both.classes_.tolist() == [-1, 1]
        assert both.record_.labels.labelled.all()
    Xs, ys, _, ts = noisy_digits(300, k=3)
    bare = ~ts & (np.arange(len(ys)) % 2 == 0)
    semi = classifier().fit(Xs, np.where(bare, -1, ys), trusted=ts)
    assert semi.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(semi.record_.labels.labelled, ~bare)
    with_nan = np.where(bare, np.nan, ys)
    assert classifier().fit(Xs, with_nan, trusted=ts).classes_.tolist() == [0, 1, 2]


def test_any_module_is_a_model():
    X, noisy, _, trusted = noisy_digits(300)
    images = X.reshape(-1, 1, 8, 8).astype(np.float32) / 16
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Dropout(0.5),
        torch.nn.Linear(144, 10),
    )  # fmt: skip
    before = copy.deepcopy(net.state_dict())
    own = Module(net, solver=Descent(n_steps=60))
    fitted = PGSClassifier(own, reference="raw", random_state=0).fit(images, noisy, trusted=trusted)
    assert fitted.predict(images).shape == (300,)
    assert not fitted.safeness_.fell_back
    assert fitted.reference_model_.model.decayed.tolist() == [1] * 36 + [0] * 12 + [1] * 1440 + [0] * 10
    assert net.training
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name])
    Xr, yr, _, tr = noisy_diabetes()
    line = torch.nn.Sequential(torch.nn.Linear(10, 1), torch.nn.Flatten(0))
    one_number = PGSRegressor(Module(line, solver=Descent(n_steps=30)), random_state=0)
    assert one_number.fit(Xr, yr, trusted=tr).predict(Xr).shape == (442,)
    binary = noisy_digits(200, k=2)
    one_logit = PGSClassifier(Module(torch.nn.Linear(64, 1), solver=Descent(n_steps=30)), random_state=0)
    assert one_logit.fit(binary[0], binary[1], trusted=binary[3]).predict_proba(binary[0]).shape == (len(binary[1]), 2)


@pytest.mark.parametrize(
    ("solver", "search"),
    [
        (Descent(n_steps=40), {}),
        (Descent(Momentum(0.05), n_steps=40, batch_size=64), {}),
        (Descent(RMSProp(), n_steps=40), {"engine": "truncated"}),
        (Descent(Adam(), n_steps=40), {"engine": Unrolled(last=5)}),
        ("momentum", {"engine": "unrolled"}),
        ("auto", {"engine": "cg"}),
        ("newton", {"engine": ConjugateGradient(damping=0.01, max_iter=20)}),
        ("auto", {"engine": "neumann"}),
        ("auto", {"engine": Neumann(terms=5)}),
        ("auto", {"engine": Cholesky(damping=0.1)}),
        (Descent(n_steps=40), {"engine": "cholesky"}),
        ("auto", {"penalty": "hinge", "penalty_weight": 5.0}),
        ("auto", {"eps1": 300.0, "eps2": 0.2}),
    ],
)
def test_every_solver_and_engine_by_name_and_as_object(solver, search):
    X, noisy, true, trusted = noisy_digits(500, k=3)
    fitted = classifier(Linear(solver=solver), search=search).fit(X, noisy, trusted=trusted)
    assert all(record["violation"] <= 1e-9 for record in fitted.history_)
    assert np.isfinite(fitted.predict_proba(X)).all()
    assert not fitted.safeness_.fell_back
    assert fitted.score(X[trusted], noisy[trusted]) >= 0.8
    clean = ~trusted & (noisy == true)
    assert fitted.sample_weight_[clean].mean() > fitted.sample_weight_[~trusted & (noisy != true)].mean() + 0.01
    if search.get("engine") == "cg":
        assert fitted.history_[0]["cg_residual"] <= 1e-6


def test_negative_curvature_is_reported():
    X, noisy, _, trusted = noisy_digits(200, k=3)
    network = model_of("network", 30, n_hidden=5)
    fitted = classifier(network, n_outer=2, search={"engine": ConjugateGradient()})
    fitted.fit(X, noisy, trusted=trusted)
    assert any("negative_curvature" in record for record in fitted.history_)
    assert all(record.get("negative_curvature", -1) <= 0 for record in fitted.history_)


@pytest.mark.parametrize("model", ["linear", "network"])
def test_two_hundred_classes(model):
    random_state = np.random.RandomState(0)
    y = np.repeat(np.arange(200), 4)
    X = random_state.randn(200, 6)[y] + 0.1 * random_state.randn(800, 6)
    trusted = np.arange(800) % 4 == 0
    assert finite(classifier(model_of(model, 20), n_outer=2).fit(X, y, trusted=trusted), X)


@pytest.mark.parametrize("model", ["linear", "network"])
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
    for rows, labels, chosen in [
        (constant, noisy, trusted),
        (huge, noisy, trusted),
        (repeated, noisy, trusted),
        (np.zeros_like(X), noisy, trusted),
        (X, noisy, [2, 3]),
        (X, lone, trusted),
    ]:
        assert finite(classifier(model_of(model, 60), n_outer=2).fit(rows, labels, trusted=chosen), rows)


def test_a_label_is_corrected_where_less_is_left_of_it_than_another_has():
    labels = classification_labels(np.array(["a", "b", "a", None, "a"], dtype=object))
    trusted, weight = np.arange(5) == 1, np.array([1, 1, 0.3, 0.1, 1.0])
    Q = torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.6, 0.4], [0.2, 0.8]])
    choice = Choice(None, torch.from_numpy(weight[~trusted]), Q)
    distribution, corrected = PGSClassifier()._moved(choice, weight, labels, trusted, IN_MEMORY)
    np.testing.assert_allclose(distribution, [[0.6, 0.4], [0, 1], [0.6, 0.4], [0.6, 0.4], [0.2, 0.8]], rtol=1e-6)
    assert corrected.tolist() == ["a", "b", "b", "a", "b"]  # a row without a label has none to discount
