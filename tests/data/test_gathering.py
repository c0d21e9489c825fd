"""Rows of all ranks on each of them."""

import numpy as np

from safegain.data.gathering import all_rows, rows_of_this_rank
from tests.thread_ranks import in_threads


def test_arrays_of_all_ranks():
    parts = [np.ones((2, 3), np.float32), np.zeros((0, 3), np.float32), np.full((1, 3), 2.0)]
    ids = [np.array([2**63 + 5], np.uint64), np.array([], np.uint64), np.array([7], np.uint64)]

    def found(ranks):
        mine = parts[ranks.rank]
        return all_rows(mine, ranks), all_rows(ids[ranks.rank], ranks), rows_of_this_rank(len(mine), ranks)

    for rows, numbers, _ in in_threads(3, found):
        np.testing.assert_array_equal(rows, np.concatenate(parts))
        assert rows.dtype == np.float64
        assert numbers.tolist() == [2**63 + 5, 7]
    assert [where for _, _, where in in_threads(3, found)] == [slice(0, 2), slice(2, 2), slice(2, 3)]
