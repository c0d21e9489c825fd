"""Rows held out."""

import numpy as np

from safegain.data.splits import ENOUGH, hold_out, rank_rows


def test_held_out_rows_are_stratified_and_leave_every_class_one():
    random = np.random.RandomState(0)
    classes = np.repeat([0, 1, 2], [50, 10, 1])
    held = hold_out([classes], 61, 0.2, random)
    assert np.bincount(classes[held], minlength=3).tolist() == [10, 2, 0]
    groups = np.where(np.arange(61) < 2, "rare", "common")
    for seed in range(20):
        left = np.delete(np.arange(61), hold_out([classes, groups], 61, 0.6, np.random.RandomState(seed)))
        assert set(zip(classes[left], groups[left], strict=True)) == set(zip(classes, groups, strict=True))
    assert len(rank_rows([classes], 61, 0.3, random)) == 0  # 18 rows would not be enough
    assert len(rank_rows([], 100, 0.3, random)) == 30 >= ENOUGH
    assert len(rank_rows([], 100, 0.0, random)) == 0
