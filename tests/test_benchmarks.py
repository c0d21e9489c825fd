"""Benchmarks that start processes or need data, rehearsed with few rows: each is measured, and agrees."""

import math
import os
from pathlib import Path

import pytest
from benchmarks import peers, ranks


def test_two_ranks_find_what_one_does():
    rows = ranks.run(repeats=1, shrink=50, kinds=["softmax"])
    assert len(rows) == 4
    for row in rows:
        assert math.isfinite(row["ratio"]), row
        if row["name"].startswith(("(w, Q) differ", "share of the rows")):
            assert row["met"], row


@pytest.mark.skipif(
    not (Path(os.environ.get("SAFEGAIN_DATA", "")) / "mnist.npz").exists(), reason="SAFEGAIN_DATA has no mnist.npz"
)
def test_cleanlab_is_beside_the_defaults():
    (row,) = peers.run(quick=True)
    assert row["ratio"] > 0
