"""Words and gaps as numbers."""

import numpy as np
import pandas as pd

from safegain.datasets.frames import as_categories, one_hot

FRAME = pd.DataFrame({"size": [1.0, None, 4.0, 2.0], "colour": ["red", "blue", None, "red"], "count": [3, 1, 2, 2]})


def test_words_and_gaps_by_hand():
    frame = as_categories(FRAME)
    assert [str(dtype) for dtype in frame.dtypes] == ["float64", "category", "int64"]
    assert frame.isna().to_numpy().sum() == 2
    data, names = one_hot(frame)
    assert names == ["size", "size gap", "colour=blue", "colour=red", "colour gap", "count"]
    assert data.tolist() == [
        [1, 0, 0, 1, 0, 3],
        [2, 1, 1, 0, 0, 1],  # the median of 1, 4 and 2
        [4, 0, 0, 0, 1, 2],
        [2, 0, 0, 1, 0, 2],
    ]


def test_numbers_stay_as_they_are_and_the_frame_is_left_alone():
    before = FRAME.copy()
    data, names = one_hot(as_categories(FRAME[["count"]]))
    assert names == ["count"]
    assert np.array_equal(data[:, 0], FRAME["count"])
    assert FRAME.equals(before)
