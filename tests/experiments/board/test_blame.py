"""What each part costs."""

import numpy as np
import pytest
from experiments.board.blame import costs


def test_the_dearest_part_comes_first_and_what_was_not_run_is_left_out():
    default = np.array([80.0, 82.0, np.nan])
    told = {
        "matrix": np.array([80.5, 82.5, 90.0]),
        "labels": np.array([84.0, np.nan, 90.0]),
        "choice": np.full(3, np.nan),
    }
    found = costs(default, told)
    assert list(found) == ["evidence", "channel"]
    assert list(found.values()) == pytest.approx([4.0, 0.5])
