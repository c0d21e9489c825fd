"""Of very many rows without a label some take part, and the model speaks for the others."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes, load_digits

from safegain import Forest, PGSClassifier, PGSRegressor
from safegain.data.any_rows import AnyRows
from safegain.data.parts import Part, Parts
from safegain.data.ranks import ALONE
from safegain.data.rows import ArrayRows, RowSource
from safegain.search import learned_rows, material, task
from tests.search.samples import digits, of_classes
from tests.thread_ranks import in_threads

FOREST = Forest(n_trees=10, min_samples_leaf=1)


def test_some_rows_without_a_label_are_drawn_and_labelled_ones_stay():
    X, noisy, _, trusted = digits(300, k=3)
    noisy = np.where(~trusted & (np.arange(len(noisy)) % 2 == 0), -1, noisy)
    parts = of_classes(X, noisy, trusted, np.zeros_like(trusted), learner=FOREST).parts
    same, kept = parts.without_some(10_000, np.random.RandomState(0))
    assert same is parts
    assert kept is None
    fewer, kept = parts.without_some(20, np.random.RandomState(0))
    assert int((~fewer.labelled).sum()) == 20
    assert bool(kept[parts.labelled].all())
    assert torch.equal(fewer.weak.y, parts.weak.y[kept])
    np.testing.assert_array_equal(fewer.weak.X, parts.weak.X[kept.numpy()])
    assert fewer.search is parts.search


def test_every_row_has_a_corrected_label(monkeypatch):
    monkeypatch.setattr(task, "MOST_UNLABELLED", 150)
    X, y = load_digits(n_class=4, return_X_y=True)
    labelled = np.arange(len(y)) % 18 == 0
    found = PGSClassifier(FOREST, random_state=0).fit(X, np.where(labelled, y, -1), trusted=labelled)
    assert (found.corrected_labels_ == y).mean() > 0.9
    np.testing.assert_allclose(found.label_distribution_.sum(axis=1), 1, atol=1e-5)
    told = np.isclose(found.label_distribution_, found.predict_proba(X), atol=1e-6).all(axis=1)
    assert told[~labelled].mean() > 0.5  # what the model says of the rows that took no part


def test_a_sample_of_the_rows_that_are_left(monkeypatch):
    """Doubtful labels more than are learned from, and more rows without one than take part: all have a label."""
    monkeypatch.setattr(task, "MOST_UNLABELLED", 200)
    monkeypatch.setattr(learned_rows, "MOST_ROWS", 400)
    for module in (learned_rows, material):
        monkeypatch.setattr(module, "LEAST_ROWS", 100)
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    part = np.random.RandomState(0).permutation(len(y)) % 4
    given = np.select([part == 0, part == 1], [y, (y + 1) % 3], y)
    given[part == 3] = -1
    found = PGSClassifier(FOREST, random_state=0).fit(X, given, trusted=part == 0)
    assert (found.corrected_labels_ == y).mean() > 0.9
    np.testing.assert_allclose(found.label_distribution_.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("n", [30, 6])
def test_every_row_has_a_number(monkeypatch, n):
    monkeypatch.setattr(task, "MOST_UNLABELLED", 100)
    X, y = load_diabetes(return_X_y=True)
    labelled = np.random.RandomState(0).permutation(len(y)) < n
    found = PGSRegressor([FOREST, "linear"], random_state=0).fit(X, np.where(labelled, y, np.nan), trusted=labelled)
    assert np.isfinite(found.corrected_labels_).all()
    assert found.safeness_.fell_back or n == 30


def parts_on(ranks, X, n):
    y = torch.full((n,), -1)
    y[::3] = 1
    return Parts(Part(X, y), Part(np.zeros((2, 1)), torch.tensor([0, 1])), None, np.array([0, 1]), ranks=ranks)


def test_as_many_rows_of_any_kind_are_drawn_of_all_processes_as_of_one():
    def work(ranks):
        n, random = (90, 60)[ranks.rank], np.random.RandomState(0)
        fewer, _ = parts_on(ranks, AnyRows.of(np.zeros((n, 1))), n).without_some(50, random)
        return int((~fewer.labelled).sum()), random.randint(1000)

    (first, after), (second, also_after) = in_threads(2, work)
    assert first + second == 50
    assert min(first, second) > 10
    assert after == also_after  # what is drawn next is the same on both


@pytest.mark.parametrize("kind", ["source", "memory-mapped"])
def test_rows_in_files_stay_there(tmp_path, kind):
    np.save(tmp_path / "X.npy", np.arange(90.0, dtype=np.float32).reshape(90, 1))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    fewer, kept = parts_on(ALONE, ArrayRows(X) if kind == "source" else X, 90).without_some(
        20, np.random.RandomState(0)
    )
    assert isinstance(fewer.weak.X, RowSource)
    assert len(fewer.weak) == 50
    np.testing.assert_array_equal(fewer.weak.X[:], X[kept.numpy()])
