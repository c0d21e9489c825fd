"""Candidates with a model for each fold."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.linear_model import LogisticRegression

from safegain import Forest, Wrapped
from safegain.search.candidates import Candidate
from safegain.search.entry import ByFold, Entry, for_each


class Constant:
    """Says the same of every row that it is asked of, and remembers these."""

    classes_ = np.arange(2)

    def __init__(self, p):
        self.p, self.asked = p, []

    def predict_proba(self, X):
        self.asked.append(X.ravel().tolist())
        return np.tile([self.p, 1 - self.p], (len(X), 1))


def test_each_row_is_predicted_by_the_model_of_its_fold():
    first, second, idle = Constant(0.2), Constant(0.7), Constant(0.5)
    masks = [np.array([True, False, False, True]), np.array([False, True, True, False]), np.zeros(4, dtype=bool)]
    found = ByFold([first, second, idle], masks).predict_proba(np.arange(4.0)[:, None])
    np.testing.assert_allclose(found[:, 0], [0.2, 0.7, 0.7, 0.2])
    assert (first.asked, second.asked, idle.asked) == ([[0.0, 3.0]], [[1.0, 2.0]], [])


@dataclass
class Choosy:
    """A learner whose training chooses a width for itself, and keeps what it has been asked."""

    width: int | None = None
    asked: list = field(default_factory=list)

    def settled(self, X, target, seed):
        return self if self.width else Choosy(len(X), self.asked)

    def draft(self):
        return Choosy(-self.width if self.width else None, self.asked)

    def train(self, X, target, seed):
        self.asked.append((self.width, len(X)))


def test_the_first_training_on_whole_rows_settles_the_learner():
    entry = Entry(Candidate(Choosy(), "corrected"))
    for n, whole, draft in ((3, False, True), (7, True, True), (9, True, True), (11, True, False), (2, False, False)):
        entry.train(np.zeros((n, 1)), None, 0, whole=whole, draft=draft)
    assert entry.candidate.learner.asked == [(None, 3), (-7, 7), (-7, 9), (7, 11), (7, 2)]
    assert entry.candidate.learner.width is None


def test_entries_are_tried_side_by_side_unless_a_learner_is_the_users(monkeypatch):
    beside = []
    monkeypatch.setattr(
        "safegain.search.entry.side_by_side",
        lambda work, items, cost: beside.append([cost(item) for item in items]) or [work(item) for item in items],
    )
    own, users = Entry(Candidate(Forest(), "raw")), Entry(Candidate(Wrapped(LogisticRegression()), "raw"))
    assert for_each([own, own], lambda entry: 1, (1000, 4, 2)) == [1, 1]
    assert beside == [[Forest().cost(1000, 4, 2)] * 2]
    assert for_each([own, users], lambda entry: 2, (1000, 4, 2)) == [2, 2]
    assert len(beside) == 1
