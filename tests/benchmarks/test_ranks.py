"""Two processes, rehearsed with few rows: they find what one does, with half of the rows each."""

from benchmarks import ranks


def test_two_ranks_find_what_one_does():
    speed, apart, other, share, memory = ranks.run(repeats=1, shrink=200, kinds=["softmax"])
    assert apart["name"].startswith("(w, Q) differ")
    assert apart["met"], apart
    assert other["ratio"] == 0
    assert share["ratio"] == 0.5
    # Of so few rows no speed can be asked; but two processes are no more than twice as fast, noise aside.
    assert 0.01 < speed["ratio"] < 5, speed
    assert 0.1 < memory["ratio"] < 3, memory
