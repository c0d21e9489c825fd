"""A trained model on its own: rows of every kind, in blocks, and units."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from safegain.learners import trained as trained_models
from safegain.learners.linear import Linear
from safegain.learners.network import Network
from safegain.learners.trained import trained_model
from tests.learners.parts import parts_of


def made(learner, n_classes):
    parts = parts_of(n_classes)
    setup = learner.setup(parts)
    theta = torch.randn(setup.model.n_parameters, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return trained_model(setup, theta, parts), parts.weak.X


@pytest.mark.parametrize("n_classes", [None, 3])
@pytest.mark.parametrize("learner", [Linear(), Network(n_hidden=5)], ids=["linear", "network"])
def test_rows_of_every_kind(learner, n_classes, tmp_path, monkeypatch):
    model, X = made(learner, n_classes)
    expected = model.outputs(X)
    np.save(tmp_path / "X.npy", X)
    kinds = [torch.from_numpy(X), pd.DataFrame(X), np.load(tmp_path / "X.npy", mmap_mode="r")]
    if learner.linear:
        kinds.append(scipy.sparse.coo_matrix(X))
    for rows in kinds:
        np.testing.assert_allclose(model.outputs(rows), expected, atol=1e-12)
    monkeypatch.setattr(trained_models, "BLOCK_ROWS", 5)
    np.testing.assert_allclose(model.outputs(X), expected, atol=1e-12)
    assert model.outputs(X[:0]).shape == (0, n_classes or 1)


def test_numbers_come_in_the_users_units():
    model, X = made(Linear(), None)
    np.testing.assert_allclose(model.predict(X), 2 * model.outputs(X)[:, 0].numpy() + 3)
    with pytest.raises(AttributeError, match="a regression has no predict_proba"):
        model.predict_proba(X)


def test_classes_come_by_name():
    model, X = made(Network(n_hidden=5), 3)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])


def test_a_file_is_read_in_blocks(tmp_path):
    class Watched(np.memmap):
        most = 0

        def __getitem__(self, rows):
            found = super().__getitem__(rows)
            Watched.most = max(Watched.most, len(found) if found.ndim else 0)
            return found

    model, _ = made(Network(n_hidden=5), 3)
    np.zeros((20_000, 4)).tofile(tmp_path / "X.bin")
    model.predict(Watched(tmp_path / "X.bin", dtype=np.float64, mode="r", shape=(20_000, 4)))
    assert 0 < Watched.most <= 4096
