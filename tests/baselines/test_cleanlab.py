"""Label issues against cleanlab itself, and the cross-fitting around it."""

import sys

import numpy as np
import pytest
import torch

import safegain.baselines.cleanlab as confident
from safegain.baselines.cleanlab import CleanlabClassifier, cross_fitted, stratified_folds
from safegain.learners.recipe import Material, Recipe
from tests.baselines.samples import SHORT, SHORTEST, digits


def test_folds_are_stratified():
    y = np.repeat([0, 1, 2], [40, 13, 7])
    folds = stratified_folds(y, np.random.RandomState(0))
    for label in range(3):
        assert np.ptp(np.bincount(folds[y == label], minlength=5)) <= 1
    assert (folds != stratified_folds(y, np.random.RandomState(1))).any()


def test_probabilities_come_from_networks_that_have_not_seen_the_row(monkeypatch):
    def memorise(objective, recipe):
        seen = objective.material.X[:, 0]
        return lambda X: torch.stack([9.0 * torch.isin(X[:, 0], seen), torch.zeros(len(X))], dim=1)

    monkeypatch.setattr(confident, "train", memorise)
    X, y = torch.arange(23.0)[:, None], torch.arange(23) % 2
    material = Material(X, y, torch.zeros(23, dtype=torch.bool), X[:0], y[:0], 2)
    assert (cross_fitted(material, 2, Recipe(), np.random.RandomState(0)) == 0.5).all()


def test_issues_are_those_of_cleanlab(monkeypatch):
    classification = pytest.importorskip("cleanlab.classification")
    kept = {}

    def spied(*args):
        kept["probabilities"] = cross_fitted(*args)
        return kept["probabilities"]

    monkeypatch.setattr(confident, "cross_fitted", spied)
    X, y, _, trusted = digits(600)
    names = np.array([f"digit {label}" for label in y])
    model = CleanlabClassifier(**SHORT).fit(X, names, trusted=trusted)
    weak = ~trusted
    probabilities = kept["probabilities"][weak[~model.held_out_]]
    oracle = classification.CleanLearning(find_label_issues_kwargs={"n_jobs": 1})
    issues = oracle.find_label_issues(labels=y[weak], pred_probs=probabilities)
    np.testing.assert_array_equal(model.label_issues_[weak], issues["is_label_issue"])
    assert 0.05 < model.label_issues_[weak].mean() < 0.8
    assert not model.label_issues_[trusted].any()
    corrected = np.where(issues["is_label_issue"], issues["predicted_label"], y[weak])
    np.testing.assert_array_equal(model.corrected_labels_[weak], [f"digit {label}" for label in corrected])
    np.testing.assert_array_equal(model.corrected_labels_[trusted], names[trusted])


def test_issues_are_left_out_of_the_training(monkeypatch):
    pytest.importorskip("cleanlab")
    sizes = []
    whole = CleanlabClassifier._objective

    def spied(self, network, material, generator):
        sizes.append(len(material.labelled))
        return whole(self, network, material, generator)

    monkeypatch.setattr(CleanlabClassifier, "_objective", spied)
    X, y, _, trusted = digits(400)
    model = CleanlabClassifier(**SHORTEST).fit(X, y, trusted=trusted)
    assert sizes == [400 - model.held_out_.sum() - model.label_issues_.sum()]


def test_cleanlab_says_what_it_needs(monkeypatch):
    X, y, _, trusted = digits(200)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "cleanlab.filter", None)
        with pytest.raises(ImportError, match=r"pip install safegain\[cleanlab\]"):
            CleanlabClassifier(**SHORTEST).fit(X, y, trusted=trusted)
    pytest.importorskip("cleanlab")
    with pytest.raises(ValueError, match="row 1 has no label"):
        CleanlabClassifier(**SHORTEST).fit(X, np.where(np.arange(200) == 1, -1, y), trusted=trusted)
