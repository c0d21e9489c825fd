import itertools

import numpy as np
import pytest
import scipy.sparse

from safegain.data.row_sample import of_least_keys, row_keys
from safegain.data.rows import ArrayRows
from tests.thread_ranks import in_threads

N, MOST = 5000, 400


@pytest.fixture
def rows():
    random = np.random.RandomState(0)
    return random.normal(size=(N, 4)), random.randint(3, size=N)


def drawn(X, y, most=MOST):
    """The sample's rows with their labels, in the order of their keys."""
    keys = row_keys(X, y)
    kept = np.flatnonzero(of_least_keys(keys, most))
    kept = kept[np.argsort(keys[kept])]
    return np.column_stack([X[kept], y[kept]])


def test_the_sample_follows_from_the_rows_and_not_from_their_order(rows):
    X, y = rows
    order = np.random.RandomState(1).permutation(N)
    np.testing.assert_array_equal(drawn(X, y), drawn(X[order], y[order]))
    assert len(drawn(X, y)) == MOST
    np.testing.assert_array_equal(row_keys(ArrayRows(X), y), row_keys(X, y))
    np.testing.assert_array_equal(row_keys(scipy.sparse.csr_array(X), y), row_keys(X, y))


def test_copies_have_keys_of_their_own_in_any_order():
    random = np.random.RandomState(0)
    X, y = random.randint(3, size=(N, 2)).astype(float), random.randint(2, size=N)  # 18 different rows
    assert len(np.unique(row_keys(X, y))) == N
    order = random.permutation(N)
    np.testing.assert_array_equal(drawn(X, y), drawn(X[order], y[order]))
    found, shares = drawn(X, y), []
    for part in (found, np.column_stack([X, y])):
        shares.append(np.unique(part, axis=0, return_counts=True)[1] / len(part))
    assert len(shares[0]) == 18  # all kinds of rows, about as often as among all
    np.testing.assert_allclose(*shares, atol=4 * (1 / 18 / MOST) ** 0.5)


def test_processes_find_the_sample_of_one_process(rows):
    X, y = rows
    whole = of_least_keys(row_keys(X, y), MOST)
    splits = ([0, 100, 100, N], [0, 2500, 2501, N])  # one of them without rows

    for ends in splits:
        parts = [slice(*pair) for pair in itertools.pairwise(ends)]

        def work(ranks, parts=parts):
            part = parts[ranks.rank]
            return of_least_keys(row_keys(X[part], y[part]), MOST, ranks)

        np.testing.assert_array_equal(np.concatenate(in_threads(3, work)), whole)


def test_few_rows_are_all_there(rows):
    X, y = rows
    assert of_least_keys(row_keys(X, y), N).all()
    assert of_least_keys(row_keys(X, y), N - 1).sum() == N - 1
    assert not of_least_keys(row_keys(X[:0], y[:0]), 5).any()


def test_a_sample_is_like_all_rows(rows):
    """Columns, labels and neighbours in the table have no say in who is drawn."""
    X, y = rows
    found = of_least_keys(row_keys(X, y), 1000)
    for column in (*X.T, y, np.arange(N) / N):
        error = column.std() * (1 / 1000 - 1 / N) ** 0.5
        assert abs(column[found].mean() - column.mean()) < 4 * error


def test_labels_that_are_numbers_and_gaps(rows):
    X, _ = rows
    y = np.where(X[:, 0] > 1, np.nan, X[:, 1])
    keys = row_keys(X, y)
    assert len(np.unique(keys)) == N
    assert (row_keys(X, -y)[~np.isnan(y)] != keys[~np.isnan(y)]).all()
