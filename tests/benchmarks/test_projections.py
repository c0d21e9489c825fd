"""The projections' benchmark, rehearsed."""

from benchmarks import projections


def test_rehearsal_measures_every_row():
    rows = projections.run(repeats=3, rows=1_000, weights=10_000)
    assert [row["name"].split(" /")[0] for row in rows] == ["budgeted_simplex_rows", "capped_box"] * 2
    for row in rows:
        # Several passes over the rows, each dearer than a sort or a sum; no thousands of them.
        assert 0.5 < row["ratio"] < 1_000, row
