"""What a contest asks of numbers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from safegain import Boosting, Huber, Linear, Reshaped, Several
from safegain.evidence.number_evidence import TRUST, NumberEvidence
from safegain.search.folds import Fold, last_fold
from safegain.search.number_jury import NumberJury
from safegain.search.number_task import NumberTask, skewness
from safegain.search.task import Task
from tests.search.samples import made_up, of_numbers

N, N_TRUSTED = 60, 20


@pytest.fixture
def task():
    X, y, _, _ = made_up(n=N, n_trusted=N_TRUSTED, missing=0.3)
    return NumberTask.of(of_numbers(X, y, N, N_TRUSTED))


@pytest.fixture
def evidence():
    good = np.tile([0.9, 0.2], (N + N_TRUSTED) // 2)
    n = np.arange(N + N_TRUSTED, dtype=float)
    return NumberEvidence(n, good, n + 100, n + 90, n + 110)


def test_it_is_a_task(task, evidence):
    assert isinstance(task, Task)
    assert task.obstacle is None
    assert task.rivals([]) == ("raw+trusted", "trusted")
    assert replace(task, problem=replace(task.problem, reference="raw")).rivals([]) == ("raw",)
    again = task.evidence_of(evidence.tensors)
    for name, value in vars(evidence).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_corrected_labels_are_the_mean_of_what_they_may_be(task, evidence):
    found, y = task.corrected(evidence, last_fold(task.material.rows)), task.material.y.numpy()
    bare, weak = np.isnan(y), np.arange(len(y)) < N
    some = weak & ~bare
    good, suggested = evidence.good, evidence.suggested
    np.testing.assert_allclose(found.values[some], (good * y + (1 - good) * suggested)[some])
    np.testing.assert_array_equal(found.values[~weak], y[~weak])
    assert np.isfinite(found.values).all()
    np.testing.assert_array_equal(found.weight, np.where(weak, ~bare, TRUST))


def test_rows_without_a_label_count_by_what_is_explained_of_the_folds_own_rows(evidence):
    """Those that judge say nothing of it."""
    X, y, _, _ = made_up(n=N, n_trusted=N_TRUSTED, missing=0.5)
    task = NumberTask.of(of_numbers(X, y, N, N_TRUSTED))
    rows, number = task.material.rows, torch.arange(N + N_TRUSTED)
    judged = rows.trusted & (number % 2 == 0)
    fold = Fold(rows.weak, rows.trusted & ~judged, judged, torch.zeros_like(judged))
    right = task.material.y.numpy()
    for wrong, counts in ((judged, True), (fold.trusted, False)):
        predicted = np.where(wrong, 1e6, np.nan_to_num(right))
        weight = task.corrected(replace(evidence, predicted=predicted), fold).weight
        assert (weight[np.isnan(right)] == (1 if counts else 0)).all()


def test_weak_rows_are_heard_as_far_as_they_are_good(task, evidence):
    rows = torch.arange(N + N_TRUSTED)
    judged, witnesses = rows >= N + 10, (rows < 20) & task.material.rows.labelled
    none = torch.zeros_like(judged)
    halves = [Fold(none, none, judged & (rows % 2 == i), witnesses & (rows % 2 == i)) for i in range(2)]
    other = replace(evidence, good=np.full(len(rows), 0.5))
    jury = task.jury(halves, [evidence, other], None)
    assert jury.trusted == 10
    y, heard = task.material.y.numpy(), rows[witnesses].numpy()
    np.testing.assert_array_equal(jury.said, np.concatenate([y[N + 10 :], y[heard]]))
    np.testing.assert_array_equal(jury.heard, np.where(heard % 2 == 0, 0.9, 0.5))


def test_a_choice_moves_what_is_more_likely_wrong(task, evidence):
    found, y = task.choice("model", task.of_weak(evidence)), task.material.y.numpy()[:N]
    labelled, doubted = ~np.isnan(y), np.arange(N) % 2 == 1
    suggested = evidence.suggested[:N]
    np.testing.assert_array_equal(found.weight, evidence.good[:N])
    np.testing.assert_allclose(found.base, np.where(labelled, y, suggested))
    np.testing.assert_allclose(found.moved, np.where(labelled & doubted, suggested - y, 0))


def test_suggestions_have_gaps_where_there_is_no_label(task, evidence):
    found, y = task.suggestions(task.of_weak(evidence)), task.material.y.numpy()[:N]
    for name, whole in (("suspicion", 1 - evidence.good), ("number", evidence.suggested), ("low", evidence.low)):
        np.testing.assert_allclose(getattr(found, name), np.where(np.isnan(y), np.nan, whole[:N]))


def test_a_reference_takes_labels_as_given_and_predicts_the_others(task):
    rows, target = task.material.training("raw+trusted", last_fold(task.material.rows), None)
    assert np.isfinite(target.values).all()
    model = Linear().train(task.material.X[rows], target, 0)
    found, y = task.as_given(model), task.material.y.numpy()[:N]
    np.testing.assert_allclose(found.base, np.where(np.isnan(y), model.predict(task.material.X[:N]), y))
    assert not found.moved.any()
    np.testing.assert_array_equal(found.weight, ~np.isnan(y))


def test_trusted_rows_that_contradict_the_weak_ones_judge_alone(task):
    random = np.random.default_rng(0)
    y = random.normal(size=200)
    shift = np.where(np.arange(200) < 60, 0.0, 3.0)  # of weak rows, which are believed
    jury = NumberJury(y + shift, 60, None, np.ones(140))
    found = [y + 0.1 * random.normal(size=200), y + 3]
    mix, judges = task.mixed(jury, found, [0, 1])
    assert mix.members == (0,)
    assert len(judges.said) == 60
    mix, judges = task.mixed(NumberJury(y, 60, None, np.ones(140)), found, [0, 1])
    assert mix.members == (0,)
    assert len(judges.said) == 200


def test_squared_errors_with_the_users_weights(task):
    judged, weight = torch.arange(N, N + 5), np.arange(1.0, 6.0)
    y = task.material.y[judged].numpy()
    score = task.score(np.concatenate([y + 2, [9.0]]), judged, weight)
    np.testing.assert_allclose(score.losses, 4)
    assert score.loss == pytest.approx(4)
    assert score.mistakes is None
    assert task.told(score, score) == "mean squared error 4 against 4"
    weighted = replace(task, material=replace(task.material, weight=np.arange(N + N_TRUSTED, dtype=float)))
    np.testing.assert_array_equal(weighted.weight(judged), judged.numpy())
    assert task.weight(judged) is None


def test_skewed_numbers_compete_on_another_scale_too():
    X, y, _, _ = made_up(n=N, n_trusted=N_TRUSTED)
    every = Several([Boosting(), Huber(), Linear()], only_fitting=True)

    def learners(labels, learner=every):
        return list(NumberTask.of(of_numbers(X, labels, N, N_TRUSTED, learner=learner)).problem.learner.learners)

    assert learners(np.linspace(0, 1, len(y))) == list(every.learners)
    prices = np.exp(np.linspace(0, 5, len(y)))[np.random.RandomState(0).permutation(len(y))]
    assert learners(prices) == [*every.learners, Reshaped(Boosting(), "log"), Reshaped(Huber(), "log")]
    below = [Reshaped(each, "yeo-johnson") for each in (Boosting(), Huber())]
    assert learners(prices - 20) == [*every.learners, *below]
    right = np.where(np.arange(len(y)) < N, np.nan, prices)  # trusted labels alone
    assert learners(right) == learners(prices)
    asked_for = Several([Boosting()])
    assert learners(prices, asked_for) == [Boosting()]


def test_skewness_by_hand():
    assert skewness(np.arange(101.0)) == pytest.approx(0)
    assert skewness(np.repeat([0.0, 1.0, 10.0], [40, 40, 20])) == pytest.approx(0.8)
    assert skewness(np.ones(9)) == 0
