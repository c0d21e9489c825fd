"""Evidence of numbers on made-up rows."""

import numpy as np
import pytest

from safegain.evidence.number_evidence import NumberEvidence, _cut, find_number_evidence
from safegain.evidence.number_heads import head_of_many

N, N_TRUSTED = 700, 100


@pytest.fixture(scope="module")
def made():
    """(X, y, right, trusted, bad): a tenth in wrong units, a tenth moved by twice the spread of the labels"""
    random = np.random.RandomState(0)
    X = random.randn(N, 4)
    right = 20 + 3 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + 0.5 * random.randn(N)
    trusted = np.arange(N) >= N - N_TRUSTED
    kind = np.where(trusted, 2, random.choice(3, N, p=(0.1, 0.1, 0.8)))
    y = np.where(kind == 0, 10 * right, np.where(kind == 1, right + 8 * random.choice((-1, 1), N), right))
    return X, y, right, trusted, kind < 2


@pytest.fixture(scope="module")
def found(made):
    X, y, _, trusted, _ = made
    return find_number_evidence(X, y, np.ones(N, bool), trusted, trusted, np.random.RandomState(0))


def test_bad_labels_are_told_from_good_ones(made, found):
    *_, trusted, bad = made
    called = found.good < 0.5
    assert called[bad].mean() > 0.95
    assert called[~bad].mean() < 0.025
    assert (found.good[trusted] == 1).all()


def test_suggestions_are_close_and_intervals_say_how_close(made, found):
    _, y, right, _, bad = made
    assert (np.abs(found.suggested - right) < np.abs(y - right))[bad].mean() > 0.98
    inside = (found.low <= right + 1e-9) & (right <= found.high + 1e-9)
    assert inside[bad].mean() > 0.8
    assert (found.high - found.low)[bad].mean() < 4


def test_rows_that_are_no_targets_have_a_prediction_and_no_say(made, found):
    X, y, right, trusted, bad = made
    targets = np.arange(N) % 7 > 0
    wild = np.where(targets, y, np.nan)
    some = find_number_evidence(X, wild, targets, trusted & targets, trusted & targets, np.random.RandomState(0))
    assert np.isfinite(some.predicted).all()
    assert np.corrcoef(some.predicted[~targets], right[~targets])[0, 1] > 0.9
    assert (some.good[~targets] == 0).all()
    other = find_number_evidence(
        X, np.where(targets, y, 1e9), targets, trusted & targets, trusted & targets, np.random.RandomState(0)
    )
    np.testing.assert_array_equal(some.good[targets], other.good[targets])
    assert (other.good[~targets] < 1e-6).all()
    judged = find_number_evidence(X, y, targets, trusted & targets, trusted & targets, np.random.RandomState(0))
    right_there = ~targets & ~bad
    assert judged.good[right_there].mean() > 0.9
    assert judged.good[~targets & bad].mean() < 0.1


def test_it_is_kept_as_it_is(found):
    again = NumberEvidence.from_tensors(found.tensors)
    for name, value in vars(found).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_labels_that_are_far_out_are_cut_off_before_anything_is_learned():
    y = np.append(np.linspace(0, 10, 101), [1e6, -1e6, 1e9])
    found = _cut(y, np.arange(104) < 103)
    np.testing.assert_array_equal(found[:101], y[:101])
    assert 10 < found[101] < 50
    assert -50 < found[102] < 0
    assert found[103] == found[101]


def test_many_rows_are_read_by_boosting(made, monkeypatch):
    X, y, right, trusted, bad = made
    monkeypatch.setattr("safegain.evidence.number_evidence.MANY", 500)
    random = np.random.RandomState(0)
    head = head_of_many(X, random)
    found = find_number_evidence(X, y, np.ones(N, bool), trusted, trusted, random, by=head)
    assert (found.good < 0.5)[bad].mean() > 0.9
    assert (found.good < 0.5)[~bad].mean() < 0.03
    assert np.corrcoef(found.predicted, right)[0, 1] > 0.8
