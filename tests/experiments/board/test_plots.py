"""Names in a drawing do not overlap."""

import numpy as np
import pytest
from experiments.board.plots import spread_out


def test_names_are_moved_apart_and_no_further():
    assert spread_out(np.array([0.0, 1.0, 5.0]), 1.0).tolist() == [0, 1, 5]
    assert spread_out(np.array([5.0, 0.0, 0.0]), 1.0) == pytest.approx([5, -0.5, 0.5])
