"""The default for numbers beside cleanlab, and on many rows, rehearsed with few of them and small models."""

import numpy as np
import pytest
from benchmarks import numbers

from safegain.datasets.files import find_file

pytestmark = pytest.mark.usefixtures("quick_evidence")


@pytest.mark.skipif(find_file(numbers.FILE) is None, reason=f"there is no {numbers.FILE}")
def test_rehearsal_measures_every_row():
    times, error, seconds, memory = numbers.run(quick=True)
    assert [each["bar"] for each in (times, error, seconds, memory)] == ["<= 3", "<= 1", "<= 120", "<= 2"]
    assert times["name"].endswith("cadata, normal 0.5 sd 50%, 300 trusted, 700 weak")
    assert 0.01 < times["ratio"] < 1_000, times
    assert 0.05 < error["ratio"] < 2, error
    assert "1,000 rows x 20, 30% of the numbers wrong" in seconds["name"]
    assert 0.01 < seconds["ratio"] < 60, seconds
    assert 0.1 < memory["ratio"] < 2, memory


def test_numbers_of_the_million_are_wrong_as_often_as_said_and_trusted_ones_never():
    X, y, trusted = numbers.training_rows(quick=True)
    again, right = numbers.make_rows(numbers.QUICK_ROWS, numbers.SEED)
    np.testing.assert_array_equal(X, again)
    off = np.abs(y - right) > 1.5  # five standard deviations of a good one
    assert not off[trusted].any()
    assert 0.15 < off[~trusted].mean() < 0.25  # errors of three: six tenths are as large


def test_without_the_data_the_row_says_so(monkeypatch):
    monkeypatch.setattr(numbers, "find_file", lambda name: None)
    row = numbers._beside_cleanlab(quick=True)
    assert "SAFEGAIN_DATA does not have it" in row["name"]
    assert not row["met"]
