"""Rows in Parquet files: the same answers as for the same rows in memory."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from safegain import Descent, Network, PGSRegressor
from safegain.data.inputs import column_scale
from safegain.data.parquet import ParquetRows
from tests.data.streamed import D, N, regressor, same


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr("safegain.data.design.KEEP_BYTES", 0)  # as if there were many rows: every pass is read anew


@pytest.fixture(scope="module")
def table(problem, tmp_path_factory):
    """Two files, in row groups of 3,000."""
    X, y, trusted = problem
    folder = tmp_path_factory.mktemp("table")
    for name, rows in (("b", slice(11_000, N)), ("a", slice(0, 11_000))):
        columns = {f"x{j}": X[rows, j] for j in range(D)} | {"y": y[rows], "trusted": trusted[rows]}
        whole = pa.table(columns | {"town": ["here"] * len(y[rows])})
        pq.write_table(whole, folder / f"{name}.parquet", row_group_size=3_000)
    return folder


NAMES = [f"x{j}" for j in range(D)]


def test_parquet_gives_what_the_array_gives(problem, table):
    X, y, trusted = problem
    rows = ParquetRows(table, columns=NAMES)
    assert (rows.shape, rows.dtype, rows.ndim, len(rows)) == ((N, D), np.float64, 2, N)
    np.testing.assert_array_equal(rows.column("y"), y)
    a = regressor().fit(X, y, trusted=trusted)
    b = regressor().fit(rows, rows.column("y"), trusted=rows.column("trusted"))
    same(a, b, 1e-9)  # parts of other sizes are summed in another order
    assert b.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(b.predict(rows), a.predict(X), rtol=1e-10)
    with pytest.raises(ValueError, match="feature names"):
        b.predict(ParquetRows(table, columns=NAMES[::-1]))
    with pytest.raises(ValueError, match=r"search='free', which streams"):
        PGSRegressor("linear", search="residuals").fit(rows, y, trusted=trusted)
    with pytest.raises(ValueError, match="X: ParquetRows are streamed"):
        PGSRegressor(Network(solver=Descent(batch_size=10)), search="free").fit(rows, y, trusted=trusted)


def test_row_groups_are_decoded_once_per_pass(table, monkeypatch):
    rows, decoded = ParquetRows(table, columns=NAMES), []
    decode = ParquetRows._parts_of
    monkeypatch.setattr(ParquetRows, "_parts_of", lambda *args: decoded.append(args[1].number) or decode(*args))
    assert sum(len(block) for block in rows.blocks(1_000)) == N
    assert decoded == [0, 1, 2, 3, 0, 1, 2]
    decoded.clear()
    column_scale(rows)
    assert len(decoded) == 14  # two passes


def test_parquet_columns(tmp_path):
    half = pa.array([1.5, None, 2.5], type=pa.float32())
    pq.write_table(pa.table({"a": half, "n": [1, 2, None], "s": ["x", None, "y"]}), tmp_path / "t.parquet")
    rows = ParquetRows(tmp_path / "t.parquet", columns=["a"])
    assert rows.dtype == np.float32
    assert rows.column("s").tolist() == ["x", None, "y"]
    both = ParquetRows([tmp_path / "t.parquet"] * 2, columns=["n", "a"])
    np.testing.assert_array_equal(both[:], [[1, 1.5], [2, np.nan], [np.nan, 2.5]] * 2)
    np.testing.assert_array_equal(both[[-1, 4, -6]], both[[5, 4, 0]])
    for beyond in ([6], [0, -7]):
        with pytest.raises(IndexError, match="is not among 6"):
            both[beyond]
    with pytest.raises(ValueError, match=r"X: column 'n' holds 2 NaN and 0 inf"):
        regressor().fit(both, np.arange(6.0), trusted=[0, 1])
    with pytest.raises(ValueError, match=rf"column 's' of {re.escape(str(tmp_path / 't.parquet'))} is string"):
        ParquetRows(tmp_path)
    with pytest.raises(ValueError, match="has no column 'b'"):
        ParquetRows(tmp_path, columns=["b"])
    with pytest.raises(ValueError, match=r"holds no \*.parquet"):
        ParquetRows(tmp_path / "..", columns=["b"])
