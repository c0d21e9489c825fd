"""Influence against training again without a row, or with another label."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from safegain.baselines.influence import InfluenceFunction, best_labels
from safegain.datasets.correction import correction_f1
from tests.baselines.samples import SHORT, digits


def small_problem():
    X, true = make_blobs(120, centers=3, n_features=3, cluster_std=4.0, random_state=1)
    rng = np.random.default_rng(0)
    trusted = np.arange(120) % 4 == 0  # 30 of them: too few to hold some out, so that every row is trained on
    y = np.where(~trusted & (rng.random(120) < 0.3), (true + 1) % 3, true)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, true, trusted


def retrained_loss(X, y, trusted, *, alpha, dropped=()):
    """Trusted log-loss of scikit-learn's softmax regression, with the same penalty."""
    rows = np.setdiff1d(np.arange(len(y)), dropped)
    model = LogisticRegression(C=1 / (alpha * len(y)), tol=1e-10, max_iter=10_000).fit(X[rows], y[rows])
    return log_loss(y[trusted], model.predict_proba(X[trusted]))


def test_best_label_by_hand():
    by_target = np.array([[0.0, -2.0, 1.0], [0.5, 0.0, 1.0]])
    labels, drop = best_labels(by_target, np.array([0, 0]))
    assert labels.tolist() == [1, 1]
    assert drop.tolist() == [2.0, 0.5]
    labels, drop = best_labels(by_target, np.array([1, 1]))
    assert labels.tolist() == [0, 0]  # the least harm, when no other label helps
    assert drop.tolist() == [-2.0, -0.5]


def test_influence_is_what_leaving_a_row_out_does():
    X, y, _, trusted = small_problem()
    model = InfluenceFunction(alpha=0.05, tol=1e-10, **SHORT).fit(X, y, trusted=trusted)
    assert not model.held_out_.any()
    assert (model.influence_[trusted] == 0).all()
    before = retrained_loss(X, y, trusted, alpha=0.05)
    weak = np.flatnonzero(~trusted)
    actual = np.array([before - retrained_loss(X, y, trusted, alpha=0.05, dropped=[i]) for i in weak])
    predicted = model.influence_[weak]
    assert np.corrcoef(actual, predicted)[0, 1] > 0.99
    assert np.polyfit(actual, predicted, 1)[0] == pytest.approx(1, abs=0.15)


def test_influence_of_another_label_is_what_changing_it_does(monkeypatch):
    X, y, _, trusted = small_problem()
    kept = {}

    def spied(by_target, labels):
        kept["Q"] = by_target.copy()
        return best_labels(by_target, labels)

    monkeypatch.setattr("safegain.baselines.influence.best_labels", spied)
    InfluenceFunction(alpha=0.05, tol=1e-10, **SHORT).fit(X, y, trusted=trusted)
    before = retrained_loss(X, y, trusted, alpha=0.05)
    actual, predicted = [], []
    for i in np.flatnonzero(~trusted)[:30]:
        for label in set(range(3)) - {int(y[i])}:
            changed = y.copy()
            changed[i] = label
            actual.append(retrained_loss(X, changed, trusted, alpha=0.05) - before)
            predicted.append(kept["Q"][i, label] - kept["Q"][i, y[i]])
    assert np.corrcoef(actual, predicted)[0, 1] > 0.99
    large = np.abs(predicted) > np.median(np.abs(predicted))
    assert (np.sign(actual) == np.sign(predicted))[large].all()


def test_influence_corrects_labels_and_leaves_clean_ones():
    X, y, true, trusted = digits(1000)
    model = InfluenceFunction(**SHORT).fit(X, y, trusted=trusted)
    assert correction_f1(y, true, model.corrected_labels_) > 0.5
    assert (model.corrected_labels_[trusted] == y[trusted]).all()
    clean = InfluenceFunction(**SHORT).fit(X, true, trusted=trusted)
    assert (clean.corrected_labels_ != true).mean() < 0.1


def test_influence_passes_over_rows_without_a_label():
    X, y, _, trusted = digits(300)
    names = np.array([f"digit {label}" for label in y], dtype=object)
    bare = ~trusted & (np.arange(300) % 3 == 0)
    names[bare] = None
    model = InfluenceFunction(**SHORT).fit(X, names, trusted=trusted)
    assert all(label is None for label in model.corrected_labels_[bare])
    assert (model.influence_[bare] == 0).all()


@pytest.mark.parametrize("setting", ["alpha", "tol"])
def test_influence_says_what_its_settings_must_be(setting):
    X, y, _, trusted = digits(200)
    with pytest.raises(ValueError, match=f"{setting}.*positive"):
        InfluenceFunction(**{setting: 0.0}, **SHORT).fit(X, y, trusted=trusted)
