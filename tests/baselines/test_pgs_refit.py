"""The refit after PGS's search: its candidates, and when it leaves the baseline."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from safegain import Descent, Free, GradientDescent, Network, PGSClassifier
from safegain import baselines as methods
from safegain.baselines.pgs_refit import WeightedLoss, candidates, counts_of_held_out, is_gain, judged
from safegain.bilevel.search_space import Point
from safegain.learners.recipe import Recipe
from safegain.search.contest import calibrated_log_losses
from tests.baselines.samples import SHORT, generator, material, network, noisy_digits

NETWORK = Network(n_hidden=8, solver=Descent(GradientDescent(1.0), n_steps=10))
SEARCH = PGSClassifier(NETWORK, search=Free(n_outer=2), reference="raw")


def test_weighted_objective_by_hand_and_candidates():
    of = material()
    w, Q = (
        torch.rand(60, generator=generator()).double(),
        torch.softmax(torch.randn(60, 3, generator=generator()), 1).double(),
    )
    w[3] = 0
    objective = WeightedLoss(network(of, dropout=0.0), of, generator(), weights=w, targets=Q)
    assert objective.rows.tolist() == [i for i in range(60) if i != 3]
    rows = torch.arange(5)
    log_p = torch.log_softmax(objective.network(of.X[rows]), dim=1)
    assert objective.loss(rows, 0.1).item() == pytest.approx((-(w[rows] * (Q[rows] * log_p).sum(1)).mean()).item())
    weak = ~of.trusted
    given = torch.nn.functional.one_hot(of.y, 3).double()
    for power, (weights, targets) in zip((1, 2), candidates(of, Point(w[weak], Q[weak])), strict=True):
        assert torch.equal(targets, given)  # labels stay as given
        assert (weights[of.trusted] == 1).all()
        for c in range(3):  # a class keeps its share, its rows trade weight among themselves
            rows = weak & (of.y == c)
            assert torch.allclose(weights[rows], w[rows] ** power / (w[rows] ** power).mean())
    half = material(unlabelled=20)
    for share, (weights, targets) in zip((1.0, 0.3), candidates(half, Point(w[weak], Q[weak])), strict=True):
        assert torch.equal(targets[:20], Q[:20])  # rows without a label have the search's
        assert torch.allclose(weights[:20], share * w[:20])
        assert (weights[20:] == 1).all()


def test_refit_without_a_better_candidate_is_the_baseline(monkeypatch):
    X, y, trusted, X_test, _ = noisy_digits()
    monkeypatch.setattr("safegain.baselines.pgs_refit.candidates", lambda *_: iter(()))
    refit = methods.PGSRefit(SEARCH, **(SHORT | {"random_state": 3})).fit(X, y, trusted=trusted)
    baseline = methods.BaselineClassifier(**(SHORT | {"random_state": 3})).fit(X, y, trusted=trusted)
    assert (refit.held_out_ == baseline.held_out_).all()
    assert (refit.held_out_ <= trusted).all()
    assert (refit.predict_proba(X_test) == baseline.predict_proba(X_test)).all()
    assert (refit.sample_weight_ == ~refit.held_out_).all()
    again = pickle.loads(pickle.dumps(refit))
    assert (again.predict_proba(X_test) == refit.predict_proba(X_test)).all()
    assert again.search_.search.callbacks == ()


def test_refit_of_a_frame_and_of_few_trusted_rows():
    X, y, _, X_test, _ = noisy_digits(200)
    trusted = np.arange(200) < 30  # too few to hold any out: the baseline comes back
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        refit = methods.PGSRefit(SEARCH, **SHORT)
        refit.fit(pd.DataFrame(X).rename(columns=str), y, trusted=trusted)
    baseline = methods.BaselineClassifier(**SHORT).fit(X, y, trusted=trusted)
    assert not refit.held_out_.any()
    assert (refit.predict(pd.DataFrame(X_test).rename(columns=str)) == baseline.predict(X_test)).all()


def test_refit_is_not_worse_than_the_baseline_on_held_out_rows_and_corrects_labels():
    X, y, trusted, X_test, y_test = noisy_digits()
    refit = methods.PGSRefit(recipe=Recipe(n_steps=300), random_state=0).fit(X, y, trusted=trusted)
    baseline = methods.BaselineClassifier(recipe=Recipe(n_steps=300), random_state=0).fit(X, y, trusted=trusted)
    held = refit.held_out_
    assert refit.score(X[held], y[held]) >= baseline.score(X[held], y[held])
    assert (refit.corrected_labels_[trusted] == y[trusted]).all()
    assert (refit.corrected_labels_[~trusted] == refit.predict(X[~trusted])).all()
    assert refit.search_.n_iter_ == 8
    assert refit.score(X_test, y_test) > 0.8


def on_held_out(loss, mistakes, spread=0.0):
    """Of 100 rows, in a pattern of their own."""
    return loss + spread * torch.tensor([1.0, -1.0] * 50), torch.arange(100).flip(0) < mistakes


@pytest.mark.parametrize(
    ("second", "kept"),
    [((0.4, 10), True), ((0.4, 12), True), ((0.4, 20), False), ((0.6, 10), False), ((0.4, 10, 1.0), False)],
)
def test_refit_leaves_the_baseline_for_less_loss_without_more_mistakes_than_chance_explains(second, kept, monkeypatch):
    X, y, trusted, _, _ = noisy_digits(200)
    baseline = torch.full((100,), 0.5), torch.arange(100) < 10
    found = iter([baseline, on_held_out(0.3, 30), on_held_out(*second)])
    monkeypatch.setattr("safegain.baselines.pgs_refit.judged", lambda *_: next(found))
    refit = methods.PGSRefit(SEARCH, **SHORT).fit(X, y, trusted=trusted)
    weak = ~trusted
    assert (len(np.unique(refit.sample_weight_[weak])) > 1) == kept
    for c in range(10):  # a class keeps its share
        assert refit.sample_weight_[weak & (y == c)].mean() == pytest.approx(1)


def test_a_gain_is_more_than_chance_explains():
    gains = torch.tensor([1.0, -0.5] * 50)
    assert not is_gain(gains - 0.15)  # mean .1, standard error .075
    assert is_gain(gains - 0.1)
    assert not is_gain(torch.zeros(9))


def test_classes_of_held_out_rows_count_as_often_as_among_weak_labels():
    of = material()
    count = counts_of_held_out(of)
    assert count.mean().item() == pytest.approx(1)
    weak = ~of.trusted & (of.y >= 0)
    for c in range(3):
        share = count[of.y_held == c].sum() / len(count)
        assert share.item() == pytest.approx((of.y[weak] == c).double().mean().item())
    made = network(of, dropout=0.0)
    losses, wrong = judged(made, of, count)
    assert torch.allclose(losses, count * calibrated_log_losses(made(of.X_held), of.y_held))
    assert torch.equal(wrong > 0, made(of.X_held).argmax(dim=1) != of.y_held)
    assert torch.equal(wrong[wrong > 0], count[wrong > 0])
