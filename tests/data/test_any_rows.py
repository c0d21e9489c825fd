"""Rows of any kind stay what they are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from safegain.data.any_rows import AnyRows
from safegain.data.inputs import join_rows, some_rows

FRAME = pd.DataFrame({"text": list("abcd"), "size": [1.0, np.nan, 3.0, 4.0]}, index=[9, 8, 7, 6])


@pytest.mark.parametrize(
    "whole",
    [FRAME, list("abcd"), np.arange(8).reshape(4, 2), scipy.sparse.csr_array(np.eye(4))],
    ids=lambda w: str(type(w)),
)
def test_all_rows_are_handed_back_and_not_a_copy(whole):
    rows = AnyRows.of(whole)
    assert (len(rows), rows.shape) == (4, (4,))
    assert rows.taken() is rows.whole
    assert rows.taken(np.arange(4)) is rows.whole


def test_some_rows_by_number_whatever_the_index_says():
    rows = AnyRows.of(FRAME)[[3, 1, 0]]
    assert rows.numbers.tolist() == [3, 1, 0]
    assert rows.taken()["text"].tolist() == ["d", "b", "a"]
    assert rows.taken(np.array([0, 0, 2]))["text"].tolist() == ["d", "d", "a"]
    assert rows[1:].taken()["text"].tolist() == ["b", "a"]
    assert AnyRows.of(list("abcd"))[np.array([2, 0])].taken() == ["c", "a"]
    turned = AnyRows.of(FRAME)[::-1]  # all of them, in another order
    assert turned.taken()["text"].tolist() == ["d", "c", "b", "a"]


def test_parts_are_joined_again_without_a_copy():
    rows, keep = AnyRows.of(FRAME), np.array([True, False, True, False])
    first, second = some_rows(rows, keep, streamed=False), some_rows(rows, ~keep, streamed=False)
    joined = join_rows([first, second])
    assert joined.numbers.tolist() == [0, 2, 1, 3]
    assert joined[np.argsort(joined.numbers)].taken() is rows.whole
