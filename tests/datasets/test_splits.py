"""Splits into training, trusted and test rows."""

import numpy as np
import pytest

from safegain.datasets import splits
from tests.datasets.draws import Y, within


def parts(split: splits.Split) -> list[np.ndarray]:
    return [split.train, split.validation, split.hyper, split.test]


def test_split_rows_and_ratio():
    split = splits.split_rows(12_000, random_state=0)
    assert [len(part) for part in parts(split)] == [7000, 1000, 1000, 1000]
    assert len(np.unique(np.concatenate(parts(split)))) == 10_000
    split = splits.split_ratio(252, random_state=0)
    assert [len(part) for part in parts(split)] == [176, 26, 25, 25]
    assert np.array_equal(np.sort(np.concatenate(parts(split))), np.arange(252))
    assert np.array_equal(split.trusted, np.r_[split.validation, split.hyper])


def test_biased_split_has_its_odds_exactly():
    split = splits.biased_split(Y, random_state=0)
    assert [len(part) for part in parts(split)] == [7000, 1000, 1000, 1000]
    assert len(np.unique(np.concatenate(parts(split)))) == 10_000
    for part in (split.validation, split.hyper):
        assert (Y[part] < 5).sum() == 250
    assert within((Y[split.train] < 5).mean(), 0.5, 7000)
    assert within((Y[split.test] < 5).mean(), 0.5, 1000)


def test_biased_split_says_when_rows_run_out():
    with pytest.raises(ValueError, match=r"^sizes: 1500 trusted rows of the second half .* are left"):
        splits.biased_split(Y[:10_100], random_state=0)


def test_assemble_puts_training_rows_first_and_spoils_only_them():
    X, true = np.arange(40.0).reshape(20, 2), np.arange(20)
    split = splits.split_rows(20, sizes=(10, 3, 2, 4), random_state=0)
    problem = splits.assemble(X, true, split, lambda y: y + 100)
    assert problem.trusted.tolist() == [False] * 10 + [True] * 5
    assert np.array_equal(problem.y[:10], split.train + 100)
    assert np.array_equal(problem.y[10:], split.trusted)
    assert np.array_equal(problem.true, np.r_[split.train, split.trusted])
    assert np.array_equal(problem.X[:, 0], 2.0 * problem.true)
    assert np.array_equal(problem.X_test[:, 0], 2.0 * problem.y_test)
    assert np.array_equal(problem.y_test, split.test)
