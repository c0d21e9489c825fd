"""Real tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from safegain import datasets
from safegain.datasets import tables
from tests.datasets.sources import FOLDER, real_data


@real_data
@pytest.mark.parametrize("name", sorted(tables.REGRESSION))
def test_regression_tables(name):
    table = tables.REGRESSION[name]
    bunch = datasets.load_regression(name)
    assert bunch.data.shape == (table.rows, len(bunch.feature_names))
    frame = pd.read_csv(Path(FOLDER) / table.file)
    assert list(frame.columns) == [*bunch.feature_names, "target"]
    table.check(frame, classes=False)
    assert np.array_equal(bunch.target, frame["target"])
    scaled = datasets.load_regression(name, scaled=True)
    for values in (scaled.data, scaled.target):
        assert np.abs(values.min(axis=0)).max() == 0
        assert np.abs(values.max(axis=0) - 1).max() == 0


@real_data
@pytest.mark.parametrize(("name", "classes"), [("letter", 26), ("pendigits", 10), ("spambase", 2)])
def test_class_tables(name, classes):
    bunch, table = datasets.load_table(name), tables.CLASSES[name]
    assert bunch.data.shape == (table.rows, len(table.features))
    counts = np.bincount(bunch.target)
    assert len(counts) == len(bunch.class_names) == classes
    assert (counts.min(), counts.max()) == table.bounds
