"""More rows than are learned from: a sample, what it says of all others, and the same wherever rows lie."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import Dataset

from safegain import ParquetRows, PGSClassifier, PGSRegressor
from safegain.data.parts import Part, Parts
from safegain.search import auto, learned_rows
from safegain.search.learned_rows import LearnedRows, most_rows, read_off

N, MOST, D = 6000, 2500, 4


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    for module in (learned_rows, auto):
        monkeypatch.setattr(module, "MOST_ROWS", MOST)
    monkeypatch.setattr(learned_rows, "LEAST_ROWS", 100)
    monkeypatch.setattr("safegain.data.rows.MANY_ROWS", 1000)
    monkeypatch.setattr("safegain.search.learned_rows.MANY_ROWS", 1000)


def made(n=N, seed=0):
    """Rows, a rule of two classes, labels of which a third is wrong, and trusted rows."""
    random = np.random.RandomState(seed)
    X = random.normal(size=(n, D))
    true = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    trusted = np.arange(n) < 300
    return X, true, np.where(~trusted & (random.rand(n) < 0.3), 1 - true, true), trusted


class Items(Dataset):
    def __init__(self, X):
        self.X = X

    def __len__(self):
        return len(self.X)

    def __getitem__(self, row):
        return torch.from_numpy(self.X[row]), "and more"


def places(X, folder):
    """The same rows: in memory, mapped from a file, in Parquet files, as items of a Dataset."""
    np.save(folder / "X.npy", X)
    (folder / "parts").mkdir()
    table = pd.DataFrame(X, columns=list("abcd"))
    table[:2500].to_parquet(folder / "parts" / "1.parquet", row_group_size=700)
    table[2500:].to_parquet(folder / "parts" / "2.parquet", row_group_size=5000)
    return X, np.load(folder / "X.npy", mmap_mode="r"), ParquetRows(folder / "parts"), Items(X)


def test_classes_are_the_same_wherever_rows_lie(tmp_path):
    X, true, y, trusted = made()
    y = np.where((np.arange(N) % 50 == 7) & ~trusted, -1, y)
    fits = [PGSClassifier(random_state=0).fit(each, y, trusted=trusted) for each in places(X, tmp_path)]
    first = fits[0]
    for fit, rows in zip(fits[1:], fits[1:], strict=True):
        np.testing.assert_array_equal(fit.label_distribution_, first.label_distribution_)
        np.testing.assert_array_equal(fit.predict_proba(rows), first.predict_proba(X))
    assert not first.safeness_.fell_back
    weak = ~trusted
    assert (first.corrected_labels_ == true)[weak].mean() > 0.87 > 0.8 > (y == true)[weak].mean()
