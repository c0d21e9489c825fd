"""Weak and trusted rows that came apart, joined as they are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from safegain.data.stacking import stack

X, Y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])
WEAK, TRUSTED = slice(0, 4), slice(4, 6)


def test_arrays_frames_sparse_rows_and_tensors_stay_what_they_are():
    joined, labels, mask = stack(X[WEAK], Y[WEAK], X[TRUSTED], Y[TRUSTED])
    np.testing.assert_array_equal(joined, X)
    np.testing.assert_array_equal(labels, Y)
    assert mask.tolist() == [False] * 4 + [True] * 2
    frame = pd.DataFrame(X)
    together, _, _ = stack(frame[WEAK], Y[WEAK], frame[TRUSTED], Y[TRUSTED])
    pd.testing.assert_frame_equal(together, frame)
    sparse, _, _ = stack(scipy.sparse.csr_matrix(X[WEAK]), Y[WEAK], X[TRUSTED], Y[TRUSTED])
    assert scipy.sparse.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), X)
    tensors, _, _ = stack(torch.from_numpy(X[WEAK]), Y[WEAK], X[TRUSTED], Y[TRUSTED])
    assert torch.equal(tensors, torch.from_numpy(X))


def test_a_missing_label_stays_missing_beside_text():
    mixed = stack([[1.0], [2.0]], ["b", np.nan], [[2.0]], ["a"])[1]
    assert mixed[[0, 2]].tolist() == ["b", "a"]
    assert pd.isna(mixed[1])


def test_what_does_not_go_together_is_named():
    frame = pd.DataFrame(X)
    with pytest.raises(ValueError, match="y_trusted: has 1 labels for 2 rows"):
        stack([[1.0]], [0], [[2.0], [3.0]], [1])
    with pytest.raises(ValueError, match="y: has 2 labels for 1 rows"):
        stack([[1.0]], [0, 1], [[2.0]], [1])
    with pytest.raises(ValueError, match="columns of X"):
        stack(frame, Y, frame.rename(columns={0: "zero"}), Y)
    with pytest.raises(ValueError, match="columns of X"):
        stack(frame, Y, X, Y)
