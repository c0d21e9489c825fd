"""Softmax regression against scikit-learn, rehearsed."""

import pytest
from benchmarks import convex


def test_rehearsal_measures_every_row():
    rows = list(convex.run(quick=True))
    assert len(rows) == 4
    gradient, gradient_theirs, *searches = rows
    # A hypergradient is a few solves with one matrix, a fit is some ten of them; a search is twenty fits and more.
    # One repeat of a few milliseconds: the machine may be busy with something else.
    assert 0.001 < gradient["ratio"] < 20, gradient
    assert 0.001 < gradient_theirs["ratio"] < 20, gradient_theirs
    for row in searches:
        assert 0.5 < row["ratio"] < 500, row


def test_a_benchmark_of_unequal_things_is_refused(monkeypatch):
    theirs = convex._theirs
    monkeypatch.setattr(convex, "_theirs", lambda X, y, tol: theirs(X, (y + 1) % 3, tol))
    with pytest.raises(RuntimeError, match="probabilities differ from scikit-learn's"):
        next(convex.run(quick=True))
