"""Trained models as the upper level asks for them."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from safegain.learners.mixture import logits_of
from safegain.search.predictions import Predictions, RowsAsTheyAre

X = np.arange(6.0).reshape(3, 2)


def test_probabilities_become_logits():
    P = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]])
    outputs = Predictions(SimpleNamespace(classes=np.arange(2), mean=0.0, unit=1.0)).outputs(
        SimpleNamespace(predict_proba=lambda rows: P[: len(rows)]), X
    )
    np.testing.assert_allclose(outputs.numpy(), logits_of(P))


def test_numbers_are_standardised():
    model = SimpleNamespace(predict=lambda rows: rows[:, 0])
    outputs = Predictions(SimpleNamespace(classes=None, mean=2.0, unit=4.0)).outputs(model, X)
    assert outputs.tolist() == [[-0.5], [0.0], [0.5]]


@pytest.mark.parametrize("rows", [X, scipy.sparse.csr_array(X)], ids=["dense", "sparse"])
def test_columns_are_filled_in_a_copy(rows):
    filled = RowsAsTheyAre().filled(rows, [1], np.array([7.0, 9.0]))
    assert filled.tolist() == [[0.0, 9.0], [2.0, 9.0], [4.0, 9.0]]
    assert RowsAsTheyAre().rows(rows) is rows
    assert rows[0, 1] == 1.0
