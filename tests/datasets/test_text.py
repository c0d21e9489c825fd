"""Real texts."""

import numpy as np

from safegain.datasets.text import load_youtube
from tests.datasets.sources import real_data


@real_data
def test_youtube():
    bunch = load_youtube()
    assert bunch.weak_labels.shape == (1956, 10)
    assert [int((bunch.split == part).sum()) for part in ("train", "valid", "test")] == [1586, 120, 250]
    train = bunch.split == "train"
    assert np.bincount(bunch.target[train]).tolist() == [755, 831]
    votes, target = bunch.weak_labels[train], bunch.target[train]
    covered = (votes != -1).any(axis=1)
    assert round(100 * covered.mean(), 1) == 87.7
    lead = (votes == 1).sum(axis=1) - (votes == 0).sum(axis=1)
    assert ((lead > 0) == target)[lead != 0].mean() > 0.93
