"""Weak and trusted rows below each other, and residuals that no row has a part in itself."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import fisher_exact
from sklearn.linear_model import Ridge

import safegain.evidence.residuals
from safegain.data.rows import Joined
from safegain.evidence.residuals import FAR, ResidualEvidence, residual_evidence, stack_rows
from safegain.learners.linear import Linear
from tests.search.samples import made_up, of_numbers


def stacked(n=60, n_trusted=20, *, alpha=0.2, n_held=0, **settings):
    """(stack, X, y)"""
    X, y, _, _ = made_up(n, n_trusted, d=3, **settings)
    problem = of_numbers(X, y, n, n_trusted, learner=Linear(alpha=alpha), n_held=n_held)
    setup = problem.learner.setup(problem.parts)
    stack = stack_rows(problem.parts, setup, np.random.RandomState(0), torch.Generator().manual_seed(0))
    return stack, X[: n + n_trusted], y[: n + n_trusted]


def everyone(stack):
    return torch.ones(stack.n_trusted, dtype=torch.bool)


def evidence_of(stack, seen=None, seed=0):
    return residual_evidence(stack, everyone(stack) if seen is None else seen, np.random.RandomState(seed))


@pytest.mark.parametrize("n_held", [0, 8])
def test_rows_lie_below_each_other(n_held):
    stack, _, y = stacked(missing=0.3, n_held=n_held)
    assert (stack.n_weak, stack.n_trusted) == (60, 20)
    np.testing.assert_array_equal(stack.labelled, ~np.isnan(y[:60]))
    np.testing.assert_array_equal(stack.base, np.where(np.isnan(y), 0, y))
    seen = torch.arange(20) < 5
    np.testing.assert_array_equal(stack.weights(0.5, seen)[:60], 0.5 * stack.labelled)
    np.testing.assert_array_equal(stack.weights(0.5, seen)[60:], seen)


def test_a_fit_is_ridge_regression_on_the_rows_that_count():
    stack, X, y = stacked()
    scaled = (X - X[:60].mean(axis=0)) / X[:60].std(axis=0)
    rows = np.r_[0:60, 70:80]
    theta = stack.fit(stack.weights(1.0, torch.arange(20) >= 10))
    expected = Ridge(0.2 / 2 * len(rows)).fit(scaled[rows], y[rows]).predict(scaled)
    np.testing.assert_allclose(stack.predict(theta), expected, atol=1e-9)
    # Weights that are all doubled are the same; shifts are added to the labels.
    np.testing.assert_allclose(stack.fit(2 * stack.weights(1.0, torch.arange(20) >= 10)), theta, atol=1e-9)
    shifts = torch.linspace(-1, 1, 80, dtype=torch.float64)
    moved = Ridge(0.2 / 2 * 80).fit(scaled, y + shifts.numpy()).predict(scaled)
    np.testing.assert_allclose(stack.predict(stack.fit(torch.ones(80).double(), shifts)), moved, atol=1e-9)
    some = stack.lower.model.outputs(theta, stack.with_trusted(torch.tensor([5, 2])))[:, 0]
    np.testing.assert_allclose(some, expected[np.r_[0:60, 65, 62]], atol=1e-9)


def test_no_label_predicts_its_own_row(monkeypatch):
    monkeypatch.setattr(safegain.evidence.residuals, "ROUNDS", 0)  # later rounds weigh other rows by their residuals
    stack, _, _ = stacked(wrong=0.0)  # so that weak rows have a part in the predictions
    found = evidence_of(stack)
    for row in (3, 70):
        base = stack.base.clone()
        base[row] += 0.01
        other = evidence_of(replace(stack, base=base, lower=replace(stack.lower, base=base)))
        assert other.predicted[row] == found.predicted[row]
        assert (other.predicted != found.predicted).sum() > 30  # of the rows in the other folds


def test_trusted_rows_outside_seen_have_no_part():
    stack, _, _ = stacked()
    seen = torch.arange(20) < 12
    found = evidence_of(stack, seen)
    base = stack.base.clone()
    base[72:] += 9.0
    other = evidence_of(replace(stack, base=base, lower=replace(stack.lower, base=base)), seen)
    assert torch.equal(other.predicted, found.predicted)
    assert other.scale == found.scale == pytest.approx(float(found.residual[60:72].square().mean().sqrt()))
    w, shifts = torch.ones(80).double(), torch.zeros(80).double()
    assert torch.equal(other.refit(w, shifts), found.refit(w, shifts))
    assert not torch.equal(found.refit(w, shifts), evidence_of(stack).refit(w, shifts))


def test_the_best_of_several_fits_predicts_the_trusted_rows():
    stack, _, _ = stacked(n=200, n_trusted=40, wrong=0.4)
    found = evidence_of(stack)
    assert found.scale < 0.5  # the rows' own error is 0.3; least squares on all of them is far from that
    plain = stack.predict(stack.fit(stack.weights(1.0, everyone(stack))))
    assert found.scale < 0.7 * float((stack.base - plain)[200:].square().mean().sqrt())
    one = evidence_of(stack, torch.arange(40) < 1)
    assert np.isfinite(one.scale)


def test_labels_are_doubted_where_more_weak_rows_are_far_off_than_trusted_ones():
    stack, _, _ = stacked(missing=0.3)
    noisy, clean = evidence_of(stack), evidence_of(stacked(wrong=0.0)[0])
    assert noisy.doubts_labels
    assert not clean.doubts_labels
    for n_far in range(0, 30, 3):  # of the labelled weak rows; a trusted row is far off too
        residual = torch.zeros(80, dtype=torch.float64)
        residual[stack.labelled.nonzero()[:n_far, 0]], residual[60] = 1.01 * FAR, 1.01 * FAR
        residual[:60][~stack.labelled] = 9.0  # says nothing
        made = ResidualEvidence(stack, everyone(stack), stack.base - residual, 1.0)
        n = int(stack.labelled.sum())
        p = fisher_exact([[n_far, n - n_far], [1, 19]], alternative="greater").pvalue
        assert made.doubts_labels == (p < 0.05)


def test_rows_without_a_label_have_what_is_predicted():
    stack, _, y = stacked(missing=0.3)
    found = evidence_of(stack)
    bare = np.isnan(y)
    np.testing.assert_array_equal(found.base[bare], found.predicted[bare])
    np.testing.assert_array_equal(found.base[~bare], y[~bare])
    again = ResidualEvidence.from_tensors(stack, found.seen, found.tensors)
    assert again.scale == found.scale
    assert torch.equal(again.predicted, found.predicted)


def test_many_rows_are_not_copied(monkeypatch):
    monkeypatch.setattr(safegain.learners.kernel, "MOST_KEPT", 50)
    joined, plain = [], safegain.evidence.residuals.join_rows
    monkeypatch.setattr(
        safegain.evidence.residuals, "join_rows", lambda *a, **k: joined.append(plain(*a, **k)) or joined[-1]
    )
    stack, X, _ = stacked()
    (rows,) = joined
    assert isinstance(rows, Joined)
    assert np.shares_memory(rows.parts[0].X, stack.weak)
    np.testing.assert_array_equal(stack.weak, X[:60])
