"""Columns of the tables of a run, by hand."""

import pyarrow as pa

from safegain.runs.columns import NEIGHBOURS, misfit


def neighbours(**changed: pa.DataType) -> pa.Schema:
    kinds = {"row": pa.int64(), "place": pa.int8(), "neighbour": pa.int64(), "distance": pa.float64()}
    return pa.schema([(name, kind) for name, kind in {**kinds, **changed}.items() if kind is not None])


def test_columns_that_fit_and_columns_that_do_not():
    assert misfit(neighbours(), NEIGHBOURS, {}) is None
    assert misfit(neighbours(more=pa.string()), NEIGHBOURS, {}) is None
    assert misfit(neighbours(place=None), NEIGHBOURS, {}) == "column place is missing"
    assert misfit(neighbours(distance=pa.string()), NEIGHBOURS, {}) == "column distance is string"
    twice = pa.schema([*neighbours(), pa.field("row", pa.int64())])
    assert misfit(twice, NEIGHBOURS, {}) == "two columns are called row"
