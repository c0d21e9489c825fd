"""The evidence of several folds: found side by side or not, it is the same."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from safegain import Linear, PGSClassifier
from safegain.data.stages import Stages
from safegain.learners import threads
from safegain.search import class_task, contest_road
from safegain.search.task import find_evidences
from tests.search.samples import digits


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)


def _fitted(monkeypatch):
    """Of 96 trusted rows, three folds; the threads that found evidence, and the probabilities."""
    found, find = [], class_task.find_evidence

    def watched(*arguments, **settings):
        found.append(threading.get_ident())
        return find(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(class_task, "find_evidence", watched)
        X, noisy, _, trusted = digits(320, 10)
        model = PGSClassifier([Linear(alpha=1e-4)], random_state=0).fit(X, noisy, trusted=trusted)
    return found, model.predict_proba(X)


def test_the_same_evidence_on_one_thread_and_on_two(monkeypatch, two_threads):
    on_two, P = _fitted(monkeypatch)
    assert len(on_two) == 4
    assert threading.get_ident() not in on_two
    monkeypatch.setattr(threads, "n_threads", lambda: 1)
    on_one, alone = _fitted(monkeypatch)
    assert set(on_one) == {threading.get_ident()}
    np.testing.assert_allclose(P, alone, atol=1e-12)


def test_of_many_rows_one_after_the_other(monkeypatch, two_threads):
    monkeypatch.setattr(contest_road, "MANY", 300)
    found, _ = _fitted(monkeypatch)
    assert found == [threading.get_ident()] * 3  # and none for a last training


class Numbered:
    """A task whose evidence is the fold, and a number by chance."""

    sampled = False

    def find_evidence(self, fold, random, crew):
        return SimpleNamespace(tensors={"found": torch.tensor([fold, random.randint(1000)])})

    def evidence_of(self, tensors):
        return tensors["found"].tolist()


@pytest.mark.parametrize("many", [True, False])
def test_each_fold_draws_by_itself(two_threads, many):
    def found(names):
        random = np.random.RandomState(0)
        stages = Stages(3, random, torch.Generator())
        return find_evidences(Numbered(), dict.fromkeys(names, 7), stages, random, many=many), random.randint(1000)

    three, after = found(["a", "b", "c"])
    assert [fold for fold, _ in three] == [7, 7, 7]
    assert len({drawn for _, drawn in three}) == 3
    assert found(["a", "b", "c"]) == (three, after)
