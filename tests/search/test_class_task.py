"""What a contest asks of classes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from safegain import Linear, Wrapped
from safegain.evidence.channel import Channel, Evidence
from safegain.search.class_task import BALANCED, ClassTask
from safegain.search.folds import last_fold
from safegain.search.task import Task
from tests.search.samples import digits, of_classes


@pytest.fixture
def task():
    X, noisy, _, trusted = digits(120, k=3)
    return ClassTask.of(of_classes(X, noisy, trusted, np.zeros_like(trusted), learner=Linear(alpha=1e-4)))


def _evidence(task, Q):
    n = len(Q)
    return Evidence(Q.log(), Channel(torch.eye(3)), torch.ones(n, dtype=torch.float64), Q)


def test_it_is_a_task(task):
    assert isinstance(task, Task)
    assert task.obstacle is None


def test_trusted_rows_count_for_more_among_corrected_labels(task):
    Q = torch.full((120, 3), 1 / 3)
    rows = task.material.rows
    found, trusted = task.corrected(_evidence(task, Q), last_fold(rows)), rows.trusted.numpy()
    np.testing.assert_allclose(found.values, 1 / 3)
    assert set(found.weight[trusted]) == {3.0}
    assert set(found.weight[~trusted]) == {1.0}


def test_balanced_classes_weigh_the_same(task):
    judged = torch.arange(120)[task.material.rows.trusted]
    assert task.weight(judged) is None
    weight, y = replace(task, measure=BALANCED).weight(judged), task.material.y[judged].numpy()
    np.testing.assert_allclose([weight[y == k].sum() for k in range(3)], 1)


def test_trusted_rows_of_one_class_are_no_rival_alone(task):
    everything = last_fold(task.material.rows)
    assert task.rivals([everything]) == ("raw+trusted", "trusted")
    one = replace(everything, trusted=everything.trusted & (task.material.y == 0))
    assert task.rivals([one]) == ("raw+trusted",)
    asked = replace(task, problem=replace(task.problem, reference="raw"))
    assert asked.rivals([one]) == ("raw",)
    from sklearn.linear_model import LogisticRegression

    users = replace(asked.problem, reference="trusted", learner=Wrapped(LogisticRegression()))
    with pytest.raises(ValueError, match="reference: the trusted rows are of one class"):
        replace(task, problem=users).rivals([one])


def test_a_choice_has_the_weak_rows_distributions(task):
    Q = torch.softmax(torch.arange(360.0).reshape(120, 3) / 100, dim=1)
    choice = task.choice("model", task.of_weak(_evidence(task, Q)))
    assert choice.model == "model"
    torch.testing.assert_close(choice.moved, Q[task.material.rows.weak])
    assert choice.weight.unique().tolist() == [1]


def test_kept_evidence_is_as_it_was(task):
    evidence = _evidence(task, torch.softmax(torch.randn(120, 3), dim=1))
    again = task.evidence_of(evidence.tensors)
    torch.testing.assert_close(again.Q, evidence.Q)
    torch.testing.assert_close(again.channel.T, evidence.channel.T)
