"""Designs against the matrices that they stand for."""

import numpy as np
import scipy.sparse
import torch

from safegain.data.design import DenseDesign, SparseDesign
from safegain.data.inputs import column_scale
from safegain.data.rows import BLOCK_ROWS
from tests.bilevel.softmax import close


def test_designs_multiply_like_the_matrix_they_stand_for(monkeypatch):
    random = np.random.RandomState(0)
    n, d = BLOCK_ROWS + 37, 3
    X = random.randn(n, d) * [1, 100, 1e-3] + [0, 50, 1]
    X[random.rand(n, d) < 0.5] = 0
    weight, B, G = random.rand(n), random.randn(d + 1, 2), random.randn(n, 2)
    mean, scale = column_scale(torch.from_numpy(X))
    np.testing.assert_allclose(scale, X.std(axis=0), rtol=1e-12)
    _, rms = column_scale(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(rms, np.sqrt((X**2).mean(axis=0)), rtol=1e-12)
    offset = torch.tensor([0.5, 0.0, -2.0], dtype=torch.float64)
    streamed = DenseDesign(torch.from_numpy(X), mean=mean, scale=scale)
    monkeypatch.setattr("safegain.data.design.KEEP_BYTES", 0)
    sparse = scipy.sparse.csr_array(X)
    cases = [
        (streamed, (X - mean.numpy()) / scale.numpy()),
        (SparseDesign(sparse, scale=rms), X / rms.numpy()),
        (SparseDesign(sparse, scale=rms, offset=offset), (X + offset.numpy()) / rms.numpy()),
    ]
    for design, body in cases:
        full = np.column_stack([body, np.ones(n)])
        close(design.matmul(torch.from_numpy(B)), full @ B, 1e-12)
        close(design.rmatmul(torch.from_numpy(G)), full.T @ G, 1e-12)
        rows = torch.tensor([3, 0, n - 1])
        close(design[rows].matmul(torch.from_numpy(B)), full[rows.numpy()] @ B, 1e-12)
    for design, body in cases[:2]:
        full = np.column_stack([body, np.ones(n)])
        close(design.gram(torch.from_numpy(weight)), full.T @ (weight[:, None] * full), 1e-12)
