"""Trained models as facts and arrays, and back: one way of preparing rows, one architecture, and a theta for each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.models import Linear, Model, Module, TwoLayer
from safegain.data.inputs import Inputs
from safegain.data.labels import Labels
from safegain.learners.trained import TrainedModel
from safegain.runs.facts import Architecture
from safegain.search.references import NEW, REFERENCES

Arrays = dict[str, np.ndarray]

_DTYPES = {"float32": torch.float32, "float64": torch.float64}


def models_to_state(model: TrainedModel, references: Mapping[str, TrainedModel]) -> tuple[Architecture, Arrays]:
    """`model` is one of the references after a fall back, and else a model of its own."""
    handed: Any = next((name for name, reference in references.items() if reference is model), NEW)
    thetas = {name: reference.theta for name, reference in references.items()} | {handed: model.theta}
    arrays = {f"theta.{name}": _numpy(theta) for name, theta in thetas.items()}
    inputs = model.inputs
    if inputs.mean is not None and inputs.scale is not None:
        arrays |= {"inputs.mean": _numpy(inputs.mean), "inputs.scale": _numpy(inputs.scale)}
    kind, buffers = _architecture(model.model)
    dtype: Any = str(inputs.dtype).removeprefix("torch.")
    made = Architecture(
        **kind,
        linear=inputs.linear,
        dtype=dtype,
        scaled=inputs.mean is not None,
        handed_back=handed,
        references=list(references),
        mean=None if model.classes is not None else model.y_mean,
        unit=None if model.classes is not None else model.y_scale,
    )
    return made, arrays | buffers


def models_from_state(
    facts: Architecture, arrays: Arrays, labels: Labels, n_features: int, module: torch.nn.Module | None
) -> tuple[TrainedModel, dict[str, TrainedModel]]:
    """A ValueError, KeyError or TypeError where facts and arrays do not fit together."""
    # A module of the user's says nothing of the rows that it takes.
    if facts.kind != "module" and facts.sizes[0] - facts.linear != n_features:
        raise ValueError(f"n_features_in is {n_features}, and a model takes {facts.sizes[0] - facts.linear} columns")
    if not facts.references or not set(facts.references) <= set(REFERENCES):
        raise ValueError("the references are not known")
    dtype = _DTYPES[facts.dtype]
    n_outputs = 1 if labels.classes is None else len(labels.classes)
    names = dict.fromkeys([*facts.references, facts.handed_back])
    thetas = {name: _tensor(arrays[f"theta.{name}"]) for name in names}
    p = thetas[facts.handed_back].numel()
    if facts.sizes[-1] != n_outputs:
        raise ValueError(f"the model has other outputs than the {n_outputs} that its task needs")
    model = _module(facts, arrays, module, n_outputs, dtype) if facts.kind == "module" else _made(facts, p, dtype)
    if facts.linear != isinstance(model, Linear):
        raise ValueError("the model takes rows of another kind")
    if any(theta.shape != (model.n_parameters,) or theta.dtype != model.decayed.dtype for theta in thetas.values()):
        raise ValueError(f"a model of {model.n_parameters} numbers has a theta of another size or type")
    inputs = Inputs(facts.linear, dtype, *_scaling(facts, arrays))
    units = (labels.mean, labels.scale) if facts.mean is None or facts.unit is None else (facts.mean, facts.unit)
    trained = {name: TrainedModel(inputs, model, theta, labels.classes, *units) for name, theta in thetas.items()}
    return trained[facts.handed_back], {name: trained[name] for name in facts.references}


def _architecture(model: Model) -> tuple[dict[str, Any], Arrays]:
    if isinstance(model, Linear):
        return {"kind": "linear", "sizes": [model.shape[0], len(model.contrast)]}, {}
    if isinstance(model, TwoLayer):
        return {"kind": "two-layer", "sizes": [model.d, model.h, model.k], "gain": model.gain}, {}
    assert isinstance(model, Module)
    shapes = {name: list(shape) for name, shape in model.shapes.items()}
    buffers = {f"buffer.{name}": _numpy(buffer) for name, buffer in model.module.named_buffers()}
    return {"kind": "module", "name": type(model.module).__name__, "sizes": [model.k], "parameters": shapes}, buffers


def _made(facts: Architecture, p: int, dtype: torch.dtype) -> Model:
    sizes = facts.sizes
    if not all(type(size) is int and 0 < size <= p for size in sizes):
        raise ValueError(f"sizes {sizes} are none of a model of {p} numbers")
    if facts.kind == "linear":
        d, k = sizes
        _same(p, d * max(k - 1, 1))  # before memory is asked for
        return Linear(d, k)
    d, h, k = sizes
    _same(p, h * d + h + k * h + k)
    if facts.kind != "two-layer":
        raise ValueError(f"kind {facts.kind!r} is no model")
    if facts.gain is None or facts.gain == float("inf"):
        raise ValueError("a network has no gain")
    return TwoLayer(d, h, k, dtype=dtype, gain=facts.gain)


def _same(p: int, expected: int) -> None:
    if p != expected:
        raise ValueError(f"a model of {expected} numbers has {p}")


class ModuleNeeded(ValueError):
    """The run's model is a module of the user's, whose code no file holds; or another one than was given."""


def _module(
    facts: Architecture, arrays: Arrays, module: torch.nn.Module | None, n_outputs: int, dtype: torch.dtype
) -> Module:
    if module is None:
        raise ModuleNeeded(
            f"the model is a torch.nn.Module of your own ({facts.name}), whose code no file holds; hand one like it "
            "over: load(folder, module=...)"
        )
    made = Module(module, n_outputs, dtype=dtype)
    shapes = {name: list(shape) for name, shape in made.shapes.items()}
    buffers = dict(made.module.named_buffers())
    saved = {name.removeprefix("buffer."): array for name, array in arrays.items() if name.startswith("buffer.")}
    same = list(shapes.items()) == list((facts.parameters or {}).items()) and buffers.keys() == saved.keys()
    if not same or any(buffers[name].shape != array.shape for name, array in saved.items()):
        raise ModuleNeeded(
            f"module: has parameters {shapes}, and that of the run has {facts.parameters}, or other buffers; give "
            "one with the layers of the module that was fitted"
        )
    for name, array in saved.items():
        buffers[name].copy_(_tensor(array))
    return made


def _scaling(facts: Architecture, arrays: Arrays) -> tuple[Tensor | None, Tensor | None]:
    if not facts.scaled:
        if facts.linear:
            raise ValueError("a linear model has no scaling")
        return None, None
    mean, scale = _tensor(arrays["inputs.mean"]), _tensor(arrays["inputs.scale"])
    columns = None if facts.kind == "module" else facts.sizes[0] - facts.linear
    if mean.shape != scale.shape or mean.ndim != 1 or len(mean) != (len(mean) if columns is None else columns):
        raise ValueError("the scaling has other columns than the model")
    if mean.dtype != torch.float64 or scale.dtype != torch.float64:
        raise ValueError("the scaling has another type")
    return mean, scale


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy()


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array).clone()  # memory of torch's own, aligned as it was in the fit
