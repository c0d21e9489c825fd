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
    frame = pd.read_csv(Path(FOLDER) / table.file)
    assert list(frame.columns) == [*table.features, "target"]
    assert list(bunch.frame.columns) == list(table.features)
    assert bunch.data.shape == (table.rows, len(bunch.feature_names))
    assert np.isfinite(bunch.data).all()
    assert (bunch.target.min(), bunch.target.max()) == pytest.approx(table.bounds, rel=1e-3)
    assert np.array_equal(bunch.target, frame["target"])
    scaled = datasets.load_regression(name, scaled=True)
    for values in (scaled.data, scaled.target):
        assert np.abs(values.min(axis=0)).max() == 0
        assert np.abs(values.max(axis=0) - 1).max() == 0


@real_data
@pytest.mark.parametrize(
    ("name", "classes", "columns"),
    [
        ("banana", 2, 2),
        ("benefits", 2, None),
        ("chess", 2, None),
        ("contraceptive", 3, 9),
        ("german", 2, None),
        ("insured", 2, None),
        ("letter", 26, 16),
        ("marketing", 9, 13),
        ("optdigits", 10, 64),
        ("pendigits", 10, 16),
        ("phoneme", 2, 5),
        ("ring", 2, 20),
        ("segment", 7, 19),
        ("spambase", 2, 57),
        ("splice", 3, None),
        ("texture", 11, 40),
    ],
)
def test_class_tables(name, classes, columns):
    bunch, table = datasets.load_table(name), tables.CLASSES[name]
    words = [column for column in bunch.frame if isinstance(bunch.frame[column].dtype, pd.CategoricalDtype)]
    assert list(bunch.frame.columns) == list(table.features)
    assert bunch.data.shape == (table.rows, len(bunch.feature_names))
    assert np.isfinite(bunch.data).all()
    assert bool(words) == (columns is None)
    if words:  # one 0/1 column for each word
        n_words = sum(len(bunch.frame[column].cat.categories) for column in words)
        assert bunch.data.shape[1] == len(table.features) - len(words) + n_words
    else:
        assert bunch.data.shape[1] == columns
    counts = np.bincount(bunch.target)
    assert len(counts) == len(bunch.class_names) == classes
    assert (counts.min(), counts.max()) == table.bounds


def test_a_name_that_is_not_known_is_told_the_others():
    with pytest.raises(ValueError, match=r"'leter' is not known; choose one of banana, benefits"):
        datasets.load_table("leter")
