import numpy as np
import pytest
import torch

from safegain.data.inputs import Inputs, fit_inputs
from safegain.learners.scaled_inputs import check_array, inputs_from_state, inputs_state
from tests.learners.soft_rows import rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_scaled_the_same_after_reading(dtype):
    X = rows(50).astype(dtype)
    inputs = fit_inputs(X, model="network", scaling="column")
    again = inputs_from_state(*inputs_state(inputs), 4)
    assert again.dtype == inputs.dtype
    assert torch.equal(again.rows(X), inputs.rows(X))


def test_rows_that_are_not_scaled_have_no_arrays():
    inputs = Inputs(False, torch.float32, None, None)
    facts, arrays = inputs_state(inputs)
    assert arrays == {}
    assert inputs_from_state(facts, arrays, 4) == inputs


@pytest.mark.parametrize(
    ("array", "shape", "dtype"),
    [
        (np.ones(3), (2,), np.float64),
        (np.ones(3), (3,), np.float32),
        (np.array([1.0, np.nan]), (2,), np.float64),
    ],
)
def test_an_array_of_another_kind_is_refused(array, shape, dtype):
    with pytest.raises(ValueError, match="bias of a model has another shape or type, or is not finite"):
        check_array("bias", array, shape, dtype)
