"""One column from every source."""

import numpy as np
import pandas as pd
import pytest

from safegain.encoding import EncodingError, TableEncoder
from safegain.encoding.columns import canonical
from tests.encoding.samples import MIXED_KINDS, arrow, as_frame, flat_kinds, mixed_table


@pytest.mark.parametrize(
    "same",
    [
        arrow([3, 7, 3]),
        arrow(["3", "7", "3"]),
        arrow([3.0, 7.0, 3.0]),
        arrow(["3.0", "07", " 3"]),
        np.array([3, "7", 3.0], dtype=object),
        pd.Series([3, 7, 3]).astype("category"),
        np.array(["3", "7", "3"]),
    ],
)
def test_a_number_is_the_same_category_from_every_source(same):
    encoder = TableEncoder({"c": "category"}).fit({"c": arrow([3, 7, 8])})
    assert encoder.transform({"c": same}).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_text_of_values():
    pairs = {
        True: "true",
        " TRUE": "true",
        2.5: "2.5",
        "2.50": "2.5",
        "1e3": "1000",
        "": None,
        "nan": "nan",
        "1_0": "1_0",
    }
    assert {value: canonical(value) for value in pairs} == pairs
    assert canonical(float("nan")) is canonical(pd.NA) is canonical(pd.NaT) is None
    assert canonical("9" * 30) == "9" * 30
    assert canonical(2**60 + 1) == canonical(str(2**60 + 1))


def test_missing_and_uneven_columns_are_named():
    table = mixed_table()
    encoder = TableEncoder(MIXED_KINDS).fit(table)
    with pytest.raises(EncodingError, match="column 'town': is missing"):
        encoder.transform({name: table[name] for name in table if name != "town"})
    with pytest.raises(EncodingError, match="column 'town': has 10 rows, but column 'age' has 300"):
        encoder.transform({**table, "town": table["town"][:10]})
    frame = as_frame(table)
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(EncodingError, match="column 'age': occurs more than once"):
        TableEncoder(flat_kinds()).fit(twice)
