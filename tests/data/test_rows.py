"""Rows that do not fit in memory: the same answers as for the same rows in memory, and never more than a block read."""

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

from safegain import Descent, Free, Module, Network, PGSClassifier, PGSRegressor
from safegain.baselines import Reed
from safegain.bilevel.settling import SAMPLE
from safegain.data.design import DenseDesign
from safegain.data.inputs import column_scale
from safegain.data.rows import BLOCK_ROWS, ArrayRows, Joined, RowSource
from tests.data.streamed import D, N, mapped, regressor, same


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr("safegain.data.design.KEEP_BYTES", 0)  # as if there were many rows: every pass is read anew


@pytest.mark.parametrize("reference", ["raw", "best"])
@pytest.mark.parametrize("labels", ["every row", "some rows"])
def test_memmap_gives_the_bits_of_the_array(problem, tmp_path, labels, reference):
    X, y, trusted = problem
    y = np.nan_to_num(y) if labels == "every row" else y
    kept = X.copy(), y.copy()
    file = mapped(X, tmp_path)
    a = regressor(reference=reference).fit(X, y, trusted=trusted)
    b = regressor(reference=reference).fit(file, y, trusted=trusted)
    same(a, b)
    np.testing.assert_array_equal(a.predict(X), b.predict(file))
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize(("order", "dtype"), [("F", None), ("C", ">f8"), ("C", "<f4"), ("C", np.int16)])
def test_memmaps_of_any_kind(problem, tmp_path, order, dtype):
    X, y, trusted = problem
    X = np.round(X * 10) if dtype is np.int16 else X
    file = mapped(X, tmp_path, order=order, dtype=dtype)
    a = regressor().fit(np.array(file, dtype=np.float32 if dtype == "<f4" else np.float64), y, trusted=trusted)
    b = regressor().fit(file, y, trusted=trusted)
    same(a, b, 1e-10)
    same(a, regressor().fit(file[::-1][::-1], y, trusted=trusted), 1e-10)


def test_memmap_that_is_changed_in_memory_only_keeps_its_changes(problem, tmp_path):
    X, y, trusted = problem
    file = mapped(X, tmp_path, mode="c")
    file[:100] += 1
    kept = np.array(file)
    regressor().fit(file, y, trusted=trusted)
    np.testing.assert_array_equal(file, kept)


def test_scattered_rows_are_those_that_lie_in_one_piece(problem):
    X, y, trusted = problem
    order = np.argsort(trusted, kind="stable")  # weak rows first
    a = regressor(reference="best", held_out=0).fit(X[order], y[order], trusted=trusted[order])
    b = regressor(reference="best", held_out=0).fit(X, y, trusted=trusted)
    np.testing.assert_allclose(a.sample_weight_, b.sample_weight_[order], atol=1e-10)
    np.testing.assert_allclose(a.model_.theta, b.model_.theta, atol=1e-10)


class Recorder(np.memmap):
    """Remembers the most rows that were ever asked for, or computed with, at once."""

    most = 0

    @staticmethod
    def seen(rows):
        if not isinstance(rows, Recorder):
            return rows
        Recorder.most = max(Recorder.most, len(rows) if rows.ndim else 0)
        return rows.view(np.ndarray)

    def __getitem__(self, rows):
        found = super().__getitem__(rows)
        self.seen(found)
        return found

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(self.seen, inputs), **kwargs)

    def __array_function__(self, func, types, args, kwargs):
        if func is np.may_share_memory:  # numpy's own, at every slice
            return super().__array_function__(func, types, args, kwargs)
        return func(*map(self.seen, args), **kwargs)


@pytest.mark.parametrize("task", ["numbers", "classes", "network"])
def test_never_read_as_a_whole(problem, tmp_path, task, monkeypatch):
    monkeypatch.setattr("safegain.data.rows.MANY_ROWS", BLOCK_ROWS)  # of predictions
    X, y, trusted = problem
    path = tmp_path / "X.bin"
    X.tofile(path)
    file = Recorder(path, dtype=np.float64, mode="r", shape=X.shape)
    Recorder.most = 0
    if task == "classes":
        model = PGSClassifier("linear", search=Free(n_outer=1)).fit(file, np.nan_to_num(y) > 0, trusted=trusted)
    elif task == "network":
        network = Network(n_hidden=3, solver=Descent(n_steps=3, batch_size=500))
        model = PGSRegressor(network, search=Free(n_outer=1)).fit(file, y, trusted=trusted)
    else:
        model = regressor().fit(file, y, trusted=trusted)
    model.predict(file)
    assert 0 < Recorder.most <= (SAMPLE if task == "network" else BLOCK_ROWS) < len(X)


@pytest.mark.usefixtures("quick_evidence")
def test_auto_takes_a_memmap(problem, tmp_path):
    X, y, trusted = (part[:1000] for part in problem)
    for search in ("residuals", "auto"):
        both = (
            PGSRegressor("linear", search=search, random_state=0).fit(rows, y, trusted=trusted)
            for rows in (X, mapped(X, tmp_path))
        )
        np.testing.assert_allclose(*(fitted.predict(X) for fitted in both), rtol=1e-10)
    whole = (X.astype(int), mapped(X, tmp_path, dtype=int))
    both = (PGSRegressor("linear", random_state=0).fit(rows, y, trusted=trusted) for rows in whole)
    np.testing.assert_allclose(*(fitted.predict(whole[0]) for fitted in both), rtol=1e-10)


def test_file_is_checked_like_an_array(problem, tmp_path):
    X, y, trusted = problem
    X = X.copy()
    X[[3, 9000, -1], 2], X[5, 2] = np.nan, np.inf
    for rows in (X, mapped(X, tmp_path), mapped(X.astype(np.float32), tmp_path)):
        with pytest.raises(ValueError, match="X: column 2 holds 3 NaN and 1 inf"):
            regressor().fit(rows, y, trusted=trusted)
    model = regressor().fit(mapped(problem[0], tmp_path), y, trusted=trusted)
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict(mapped(X[:, :4], tmp_path))
    with pytest.raises(ValueError, match="2D array"):
        model.predict(mapped(X[:, 0], tmp_path))


def test_sources_agree_with_the_array(problem):
    X = problem[0]
    random = np.random.default_rng(1)
    source: RowSource = Joined([ArrayRows(X[:700]), ArrayRows(X[700:])])
    keep = random.random(N) < 0.3
    part = source.part(keep)
    again = random.random(keep.sum()) < 0.5
    for found, expected in ((source, X), (part, X[keep]), (part.part(again), X[keep][again])):
        blocks = list(found.blocks(64))
        assert max(map(len, blocks)) <= 64
        np.testing.assert_array_equal(np.concatenate(blocks), expected)
        numbers = random.permutation(len(expected))[:50]
        np.testing.assert_array_equal(found[numbers], expected[numbers])
        np.testing.assert_array_equal(found[3:7], expected[3:7])
        assert found.shape == expected.shape
    mean, scale = column_scale(part)
    np.testing.assert_allclose(mean, X[keep].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale, X[keep].std(axis=0), rtol=1e-12)
    design = DenseDesign(part, mean=mean, scale=scale)
    written = np.column_stack([(X[keep] - mean.numpy()) / scale.numpy(), np.ones(keep.sum())])
    B = torch.from_numpy(random.standard_normal((D + 1, 2)))
    np.testing.assert_allclose(design.matmul(B), written @ B.numpy(), atol=1e-12)
    np.testing.assert_allclose(torch.cat([z for _, z in design.products(B)]), written @ B.numpy(), atol=1e-12)


class Endless(IterableDataset):
    def __iter__(self):
        return iter(())


class Items(Dataset):
    """Rows by number, with something else beside them; remembers which were asked for."""

    def __init__(self, X):
        self.X, self.asked = torch.from_numpy(X), []

    def __len__(self):
        return len(self.X)

    def __getitem__(self, number):
        self.asked.append(number)
        return self.X[number], "beside"


@pytest.mark.parametrize("labels", ["every row", "some rows"])
@pytest.mark.parametrize("kind", ["network", "module"])
def test_dataset_gives_what_the_array_gives(problem, kind, labels):
    X, y, trusted = (part[:600] for part in problem)
    y = np.nan_to_num(y) if labels == "every row" else y
    torch_module = torch.nn.Sequential(torch.nn.Linear(D, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)).double()
    solver = Descent(n_steps=20, batch_size=64)
    model = Network(n_hidden=3, solver=solver) if kind == "network" else Module(torch_module, solver=solver)
    a = PGSRegressor(model, search=Free(n_outer=2), random_state=0).fit(X, y, trusted=trusted)
    b = PGSRegressor(model, search=Free(n_outer=2), random_state=0).fit(Items(X), y, trusted=trusted)
    same(a, b, 1e-10)
    np.testing.assert_allclose(b.predict(Items(X)), a.predict(X), atol=1e-10)


def test_dataset_of_classes_in_one_batch(problem):
    X, y, trusted = (part[:300] for part in problem)
    labels = np.nan_to_num(y) > 0
    network = Network(n_hidden=3, solver=Descent(n_steps=5, batch_size=10_000))
    a = PGSClassifier(network, search=Free(n_outer=1), random_state=0).fit(X, labels, trusted=trusted)
    b = PGSClassifier(network, search=Free(n_outer=1), random_state=0).fit(Items(X), labels, trusted=trusted)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(Items(X)), atol=1e-10)


def test_dataset_says_what_it_needs(problem):
    X, y, trusted = (part[:300] for part in problem)

    batches = Network(solver=Descent(batch_size=8))

    def refused(match, model="network", search="free", rows=None):
        with pytest.raises(ValueError, match=match):
            PGSRegressor(model, search=search).fit(Items(X) if rows is None else rows, y, trusted=trusted)

    refused("batch_size: must be given")
    refused("batch_size: must be given", Network(solver="adam"))
    refused("search: 'residuals' takes rows in memory", search="residuals")
    refused("solver, engine: a network", batches, Free(engine="cg"))
    refused("solver, engine: a network", Network(solver="newton"))
    refused("has no length", rows=Endless())
    ragged = Items(X)
    ragged.X = [torch.zeros(D)] * 299 + [torch.zeros(2)]
    refused("X: item 299 has shape", batches, rows=ragged)
    with pytest.raises(ValueError, match="takes rows in memory, got Items"):
        Reed().fit(Items(X), y > 0)


def test_callbacks_keep_what_they_were_shown(problem):
    X, y, trusted = (part[:500] for part in problem)
    seen = []

    def watch(record, candidate):
        seen.append((candidate.point.w, candidate.point.w.clone(), candidate.point.Q, candidate.point.Q.clone()))

    regressor(n_outer=5, callbacks=(watch,)).fit(X, np.nan_to_num(y), trusted=trusted)
    assert len({float(w.sum()) for w, *_ in seen}) > 2
    for w, w_then, Q, Q_then in seen:
        assert torch.equal(w, w_then)
        assert torch.equal(Q, Q_then)
