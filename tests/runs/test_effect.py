import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from safegain.data.rows import ArrayRows
from safegain.runs import effect, open_run
from safegain.runs.saving import record_of
from tests.runs.fits import frame


def brute_force_change(estimator, X, row, gradient, rate=1e-4):
    """Slope of the mean trusted loss along a step on this row that takes `gradient` for that of its outputs."""
    model, labels = estimator.model_, estimator.record_.labels
    design = torch.from_numpy(
        np.column_stack([(X - model.inputs.mean.numpy()) / model.inputs.scale.numpy(), X[:, 0] ** 0])
    )
    heard, y = torch.from_numpy(estimator.trusted_ & ~estimator.set_aside_), torch.from_numpy(labels.numbers)

    def outputs(theta):
        return design @ theta.view(model.model.shape) @ model.model.contrast.T

    def loss(theta):
        z = outputs(theta)[heard]
        if labels.classes is None:
            return (z[:, 0] - y[heard]).square().mean() * labels.scale**2
        return torch.nn.functional.cross_entropy(z, y[heard])

    theta = model.theta.clone().requires_grad_()
    step = torch.autograd.grad(outputs(theta)[row], theta, gradient)[0]
    return float(loss(model.theta - rate * step) - loss(model.theta + rate * step)) / (2 * rate)


@pytest.mark.parametrize("name", ["free, words, frame", "fall back", "free"])
def test_effect_is_the_expected_change_by_one_step_with_the_true_label(saved, name):
    estimator, X, folder = saved(name)
    X = X.to_numpy() if isinstance(X, pd.DataFrame) else X
    found = open_run(folder).labels["effect"]
    assert (found[estimator.trusted_] == 0).all()
    p = torch.from_numpy(estimator.predict_proba(X if name != "free, words, frame" else frame(X)))
    for row in np.flatnonzero(~estimator.trusted_)[::13]:
        w, q = estimator.sample_weight_[row], torch.from_numpy(estimator.label_distribution_[row])
        trained = w * (p[row] - q)
        belief = (w * q + (2 - w) * p[row]) / 2
        changes = [brute_force_change(estimator, X, row, p[row] - e - trained) for e in torch.eye(2).double()]
        expected = sum(b * abs(change) for b, change in zip(belief.tolist(), changes, strict=True))
        assert found[row] == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_effect_on_numbers_is_the_expected_change_by_one_step_with_the_true_label(saved):
    estimator, X, folder = saved("ridge with gaps")
    found, labels = open_run(folder).labels["effect"], estimator.record_.labels
    z = torch.from_numpy((estimator.predict(X) - labels.mean) / labels.scale)
    heard = estimator.trusted_
    deviation = np.sqrt(np.mean((z.numpy() - labels.numbers)[heard] ** 2))
    errors = deviation * np.random.default_rng(0).normal(size=20_000)
    for row in np.flatnonzero(~estimator.trusted_)[::13]:
        w = estimator.sample_weight_[row]
        target = (estimator.corrected_labels_[row] - labels.mean) / labels.scale
        one = abs(brute_force_change(estimator, X, row, torch.ones(1).double()))  # for a gradient of one
        pull = w * target + (1 - w) * float(z[row])
        truths = np.concatenate([pull + errors, float(z[row]) + errors])
        gradients = 2 * (float(z[row]) - truths) - w * 2 * (float(z[row]) - target)
        assert found[row] == pytest.approx(one * np.abs(gradients).mean(), rel=0.03)


def test_effect_is_not_zero_after_a_fall_back(saved):
    estimator, _, folder = saved("fall back")
    assert estimator.safeness_.fell_back
    assert (open_run(folder).labels["effect"][~estimator.trusted_] > 0).all()


def test_models_disagree_where_they_predict_differently(saved):
    for name, far in (("free", 0), ("ridge", 0.5)):
        estimator, X, folder = saved(name)
        new, old = estimator.model_.predict(X), estimator.reference_model_.predict(X)
        expected = new != old if not far else np.abs(new - old) > far * estimator.record_.labels.scale
        assert open_run(folder).labels["disagrees"].tolist() == expected.tolist()


def test_rows_that_are_streamed_or_sparse_have_the_same_effects(saved):
    estimator, X, folder = saved("free")
    expected = open_run(folder).labels[["effect", "disagrees"]]
    for given_rows in (ArrayRows(X), scipy.sparse.csr_array(X)):
        pd.testing.assert_frame_equal(effect.of_rows(record_of(estimator), given_rows), expected)


def test_without_parameters_the_effect_is_how_far_a_check_moves_the_target(saved):
    estimator, X, _ = saved("forest")
    X = X.to_numpy()
    found, record = effect.of_rows(estimator.record_, X), estimator.record_
    p, w = estimator.predict_proba(X), record.weight[:, None]
    pull = w * record.moved + (1 - w) * p
    for row in np.flatnonzero(~record.trusted)[::9]:
        distance = [np.abs(np.eye(2)[y] - pull[row]).sum() / 2 for y in (0, 1)]
        # The targets are of single precision.
        assert found["effect"][row] == pytest.approx(((pull[row] + p[row]) / 2) @ distance, abs=1e-6)
    assert (found["effect"][record.trusted] == 0).all()
    other = estimator.reference_model_.predict(X)
    assert found["disagrees"].tolist() == (estimator.predict(X) != other).tolist()
    assert found["disagrees"].any()


def test_the_expected_number_of_a_forest_is_what_it_predicts(saved):
    estimator, X, _ = saved("forest of numbers")
    found = effect.of_rows(estimator.record_, X)
    assert found["expected"].to_numpy() == pytest.approx(estimator.predict(X))
    weak = ~estimator.trusted_
    assert (found["effect"][weak] > 0).all()
