"""How a family scales its rows, as facts and arrays and back."""

from typing import Any

import numpy as np
import torch

from safegain.data.inputs import Inputs
from safegain.learners.base import Arrays

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def inputs_state(inputs: Inputs) -> tuple[dict[str, Any], Arrays]:
    facts = {"dtype": str(inputs.dtype).removeprefix("torch.")}
    if inputs.mean is None or inputs.scale is None:
        return facts, {}
    return facts, {"mean": inputs.mean.numpy(), "scale": inputs.scale.contiguous().numpy()}


def inputs_from_state(facts: dict[str, Any], arrays: Arrays, n_features: int) -> Inputs:
    """A ValueError, KeyError or TypeError where they do not fit together."""
    dtype, found = DTYPES[facts["dtype"]], [arrays[name] for name in ("mean", "scale") if name in arrays]
    if not found:
        return Inputs(False, dtype, None, None)
    if len(found) == 1:
        raise ValueError("the scaling of rows is not whole")
    for name, array in zip(("mean", "scale"), found, strict=True):
        check_array(name, array, (n_features,), np.float64)
    if not found[1].all():
        raise ValueError("the scaling of rows divides by zero")
    return Inputs(False, dtype, torch.from_numpy(found[0]).clone(), torch.from_numpy(found[1]).clone())


def check_array(name: str, array: np.ndarray, shape: tuple[int, ...], dtype: Any) -> None:
    if array.shape != shape or array.dtype != dtype or not np.isfinite(array).all():
        raise ValueError(f"{name} of a model has another shape or type, or is not finite")
