"""The benchmark of the unrolled engine, rehearsed: what it compares agrees, and every row is measured."""

import pytest
import torch
from benchmarks import unrolled
from benchmarks.unrolled import WAYS, make, run


def test_rehearsal_measures_every_row():
    rows = list(run(quick=True))
    measured = [row for row in rows if "not installed" not in row["name"]]
    assert len(rows) == 6
    assert len(measured) >= 4  # higher and TorchOpt are extras
    for row in measured:
        assert row.keys() == {"name", "ratio", "low", "high", "noise", "bar", "met"}
        assert row["low"] <= row["ratio"] <= row["high"]
    steps, memory, *peers = measured
    # The way back is at least one more pass over each step, noise aside; 6 iterates of 80,000 parameters are 2 MB.
    assert 0.5 < steps["ratio"] < 30, steps
    assert 0 <= memory["ratio"] < 100, memory
    for row in peers:
        assert 0.05 < row["ratio"] < 50, row


@pytest.mark.parametrize("way", ["autograd", "higher", "torchopt"])
@pytest.mark.parametrize("kind", ["network", "convolutional"])
def test_every_way_finds_the_same_hypergradient(kind, way):
    if way != "autograd":
        pytest.importorskip(way)
    p = make(kind, 30, 5)
    for found, expected in zip(WAYS["ours"](p), WAYS[way](p), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()))


def test_a_benchmark_of_unequal_things_is_refused(monkeypatch):
    monkeypatch.setitem(WAYS, "autograd", lambda p: tuple(1.01 * g for g in unrolled.autograd(p)))
    with pytest.raises(RuntimeError, match=r"autograd, network: hypergradients differ by 9\.9e-03"):
        unrolled._time_against("autograd", "network", 30, 3, repeats=1)
