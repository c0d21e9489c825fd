"""Models with rows without a label and without them, at some of the labels."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from safegain import Forest, PGSClassifier
from safegain.search import measured_worth

FOREST = Forest(n_trees=10, min_samples_leaf=1)


def fitted(n_labels):
    X, y = (part[:400] for part in load_digits(n_class=5, return_X_y=True))
    labelled = np.random.RandomState(0).permutation(400) < n_labels
    return PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)


def test_a_quarter_half_and_those_of_the_contest():
    worth = fitted(60).worth_
    assert worth.labels == (15, 30, 48)
    assert all(0 <= quality <= 1 for quality in (*worth.alone, *worth.together))
    assert worth.together[0] > worth.alone[0]  # with 15 labels the others are worth something
    assert worth.more_labels(0)[0] > 0


def test_labels_that_judge_are_not_learned_from(monkeypatch):
    seen = []

    def watched(task, entries, trained, judged, seed, find=measured_worth.find_worth):
        def watch(entry, fold, corrected):
            seen.append((int(fold.trusted.sum()), bool((fold.trusted & fold.judged).any())))
            return trained(entry, fold, corrected)

        return find(task, entries, watch, judged, seed)

    monkeypatch.setattr("safegain.search.contest_road.find_worth", watched)
    fitted(60)
    assert seen == [(15, False)] * 2 + [(30, False)] * 2


def test_too_few_labels():
    assert fitted(19).worth_ is None
    assert measured_worth.LEAST_LABELS == 20


@pytest.mark.parametrize("gaps", [0.0, 0.5])
def test_doubtful_labels_are_not_measured(gaps):
    X, y = (part[:300] for part in load_digits(n_class=3, return_X_y=True))
    random = np.random.RandomState(0)
    trusted = np.arange(300) < 60
    given = np.where(~trusted & (random.rand(300) < gaps), -1, y)
    assert PGSClassifier(FOREST, random_state=0).fit(X, given, trusted=trusted).worth_ is None
