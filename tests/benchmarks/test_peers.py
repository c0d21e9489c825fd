"""The defaults beside cleanlab, rehearsed: both learn from the same rows before their times are compared."""

import os
from pathlib import Path

import pytest
from benchmarks import peers

MNIST = Path(os.environ.get("SAFEGAIN_DATA", "")) / "mnist.npz"


@pytest.mark.usefixtures("quick_evidence")
@pytest.mark.skipif(not MNIST.exists(), reason="SAFEGAIN_DATA has no mnist.npz")
def test_cleanlab_is_beside_the_defaults():
    from experiments.data.mnist import problem

    made = problem(peers.SETTING, 100)
    accuracies = [(fit().predict(made.X_test) == made.y_test).mean() for fit in peers.fits(made, quick=True)]
    assert min(accuracies) > 0.6  # chance is 0.1, and half of the labels are wrong
    (row,) = peers.run(quick=True)
    assert 0.1 < row["ratio"] < 50, row


def test_without_the_data_the_row_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("SAFEGAIN_DATA", str(tmp_path))
    (row,) = peers.run()
    assert "has no mnist" in row["name"]
    assert not row["met"]
