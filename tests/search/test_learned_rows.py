"""More rows than are learned from: a sample, what it says of all others, and the same wherever rows lie."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import Dataset

from safegain import ParquetRows, PGSClassifier, PGSRegressor
from safegain.data.parts import Part, Parts
from safegain.search import learned_rows, material
from safegain.search.learned_rows import LearnedRows, most_rows, read_off
from tests.thread_ranks import in_threads

N, MOST, D = 6000, 2500, 4


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(learned_rows, "MOST_ROWS", MOST)
    for module in (learned_rows, material):
        monkeypatch.setattr(module, "LEAST_ROWS", 100)
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


def fitted(kind, X, y, trusted, **settings):
    model = "boosting" if kind is PGSClassifier else ["linear", "boosting"]
    return kind(model, random_state=0, **settings).fit(X, y, trusted=trusted)


def test_classes_are_the_same_wherever_rows_lie(tmp_path):
    X, true, y, trusted = made()
    y = np.where((np.arange(N) % 50 == 7) & ~trusted, -1, y)
    rows = places(X, tmp_path)
    first, *others = (fitted(PGSClassifier, each, y, trusted) for each in rows)
    for each, own in zip(others, rows[1:], strict=True):
        np.testing.assert_array_equal(each.label_distribution_, first.label_distribution_)
        np.testing.assert_array_equal(each.predict_proba(own), first.predict_proba(X))
        np.testing.assert_array_equal(each.predict(own), first.predict(X))
    assert not first.safeness_.fell_back
    weak = ~trusted
    assert (first.corrected_labels_ == true)[weak].mean() > 0.84 > 0.75 > (y == true)[weak].mean()


def test_numbers_are_the_same_wherever_rows_lie(tmp_path):
    X, true, y, trusted = made_numbers()
    rows = places(X, tmp_path)
    first, *others = (fitted(PGSRegressor, each, y, trusted) for each in rows)
    for each, own in zip(others, rows[1:], strict=True):
        np.testing.assert_array_equal(each.corrected_labels_, first.corrected_labels_)
        np.testing.assert_array_equal(each.label_issues(), first.label_issues())
        np.testing.assert_array_equal(each.predict(own), first.predict(X))
    assert not first.safeness_.fell_back
    weak, bare = ~trusted, np.isnan(y)
    off = np.abs(first.corrected_labels_ - true)
    assert off[weak].mean() < 0.5 * np.abs(y - true)[weak & ~bare].mean()
    assert off[bare].mean() < 0.4


def made_numbers(n=N):
    """A third of the labels is wrong, some are missing."""
    X, _, _, trusted = made(n)
    random = np.random.RandomState(1)
    true = X[:, 0] + np.maximum(X[:, 1], 0) + 0.1 * random.normal(size=n)
    y = np.where(~trusted & (random.rand(n) < 0.3), 8 * random.normal(size=n), true)
    y[(np.arange(n) % 50 == 7) & ~trusted] = np.nan
    return X, true, y, trusted


def test_the_order_of_rows_does_not_matter():
    """Up to which trusted rows are held out, which follows from their order: they stay where they are."""
    X, _, y, trusted = made()
    order = np.r_[:300, 300 + np.random.RandomState(3).permutation(N - 300)]
    a, b = (fitted(PGSClassifier, X[rows], y[rows], trusted[rows]) for rows in (np.arange(N), order))
    np.testing.assert_array_equal(a.label_distribution_[order], b.label_distribution_)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


def test_gaps_are_filled_as_in_the_sample():
    X, true, y, trusted = made()
    X[np.random.RandomState(2).rand(*X.shape) < 0.05] = np.nan
    found = fitted(PGSClassifier, X, y, trusted)
    assert (found.corrected_labels_ == true)[~trusted].mean() > 0.8


def parts_of(n, d=3):
    random = np.random.RandomState(0)
    X, y = random.normal(size=(n, d)) * 1e3, torch.from_numpy(random.randint(2, size=n))
    weak = Part(X, y, weight=torch.arange(n).double(), digests=np.arange(2 * n).reshape(n, 2))
    return Parts(weak, Part(X[:5], y[:5]), None, np.array([0, 1]))


def test_a_sample_has_all_that_belongs_to_its_rows():
    parts = parts_of(N)
    found = LearnedRows.of(parts)
    weak, mine, numbers = found.parts.weak, found.mine, found.numbers
    assert len(weak) == len(numbers) == MOST
    assert weak.X.dtype == found.parts.search.X.dtype == np.float32
    np.testing.assert_array_equal(weak.X[mine], parts.weak.X[numbers].astype(np.float32))
    np.testing.assert_array_equal(weak.y[mine], parts.weak.y[numbers])
    np.testing.assert_array_equal(weak.weight[mine], numbers)
    np.testing.assert_array_equal(weak.digests[mine], parts.weak.digests[numbers])
    assert (np.diff(mine) < 0).any()  # a random order, in which no row knows where it lay


@pytest.mark.parametrize("n", [N, MOST])
def test_processes_have_the_same_sample_and_know_their_own_rows(n):
    parts, cuts = parts_of(n), [slice(0, 700), slice(700, 700), slice(700, None)]
    alone = LearnedRows.of(parts).parts.weak

    def found(ranks):
        whole, mine = parts.weak, cuts[ranks.rank]
        weak = Part(whole.X[mine], whole.y[mine], weight=whole.weight[mine], digests=whole.digests[mine])
        return LearnedRows.of(replace(parts, weak=weak, ranks=ranks)), weak

    for learned, own in in_threads(3, found):
        whole = learned.parts.weak
        for name in ("X", "y", "weight", "digests"):
            np.testing.assert_array_equal(getattr(whole, name), getattr(alone, name))
        numbers = slice(None) if n == MOST else learned.numbers
        np.testing.assert_array_equal(whole.X[learned.mine], own.X[numbers].astype(whole.X.dtype))


def test_fewer_rows_are_learned_from_as_they_are():
    parts = parts_of(MOST)
    found = LearnedRows.of(parts)
    assert found.numbers is None
    assert found.parts.weak.X is parts.weak.X


def test_wide_rows_are_fewer(monkeypatch):
    monkeypatch.setattr(learned_rows, "MOST_VALUES", 10_000)
    assert [most_rows(columns) for columns in (1, 4, 10, 10**6)] == [MOST, 2500, 1000, 100]


def test_rows_that_were_learned_from_keep_what_the_others_say():
    weak = parts_of(3500, d=1).weak
    numbers = np.array([3400, 7])
    (found,) = read_off(lambda X, y: (X[:, 0] + y,), weak, numbers, [np.array([-1.0, -2.0])])
    expected = weak.X[:, 0] + weak.y.numpy()
    expected[numbers] = -1, -2
    np.testing.assert_array_equal(found, expected)
