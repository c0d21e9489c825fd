"""Ratios, bars and memory, by a clock that we wind ourselves."""

import pytest
from benchmarks import measure


@pytest.fixture
def clock(monkeypatch):
    """`clock(seconds)` is work that takes so long."""
    now = [0.0]
    monkeypatch.setattr(measure.time, "perf_counter", lambda: now[0])

    def work(*seconds: float):
        left = iter(seconds)

        def call() -> None:
            now[0] += next(left)

        return call

    return work


def test_ratios_are_medians_of_pairs_after_a_first_call(clock):
    work, unit = clock(99, 6, 8, 30), clock(99, 1, 2, 3, 2, 4, 4, 3, 3, 9)
    row = measure.compare("work", work, unit, bar=3, repeats=3, units=3)
    # Units of 2, 4 and 3 seconds: 6 / 2, 8 / 4, 30 / 3.
    assert (row["low"], row["ratio"], row["high"]) == (2, 3, 10)
    assert row["noise"] == 9
    assert row["met"]


@pytest.mark.parametrize(
    ("ratio", "at_least", "met"), [(3, False, True), (3.1, False, False), (3, True, True), (2.9, True, False)]
)
def test_bars(ratio, at_least, met):
    row = measure.row("work", [ratio], bar=3, at_least=at_least)
    assert row["met"] == met
    assert row["bar"] == (">= 3" if at_least else "<= 3")


def test_what_could_not_be_measured_meets_no_bar():
    assert not measure.row("work", [float("nan")], bar=3)["met"]
    assert not measure.row("work", [float("nan")], bar=3, at_least=True)["met"]


def test_peaks_are_those_since_the_last_look():
    held = bytearray(50_000_000)
    assert len(held) == 50_000_000
    before = measure.peak_bytes()
    del held
    measure.forget_peak()
    low = measure.peak_bytes()
    assert low < before - 40_000_000
    more = bytearray(30_000_000)
    assert 25_000_000 < measure.peak_bytes() - low < 60_000_000
    del more


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="No module named no_such_module"):
        measure.in_process("no_such_module")
