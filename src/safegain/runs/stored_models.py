"""Trained models of any kind as facts and arrays, and back: each by its name, with arrays that begin with it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np
import torch

from safegain.data.labels import Labels
from safegain.learners.base import TrainedFamily
from safegain.learners.kernel_machine import TrainedKernelMachine
from safegain.learners.mixture import TrainedMixture
from safegain.learners.reshaped import Scale, TrainedReshaped
from safegain.learners.trained import TrainedModel
from safegain.learners.trained_boosting import TrainedBoosting
from safegain.learners.trained_deep_network import TrainedDeepNetwork
from safegain.learners.trained_forest import TrainedForest
from safegain.learners.wrapped import TrainedEstimator
from safegain.runs.estimator_state import estimator_from_bytes, estimator_to_bytes
from safegain.runs.facts import Architecture, StoredModel, StoredModels
from safegain.runs.model_state import Arrays, models_from_state, models_to_state
from safegain.search.references import NEW, REFERENCES

FAMILIES: dict[str, type[TrainedFamily]] = {
    "forest": TrainedForest,
    "boosting": TrainedBoosting,
    "kernel": TrainedKernelMachine,
    "deep": TrainedDeepNetwork,
}
ALONE: Any = "raw"  # the name of a model that is stored by itself, as model_state takes it


def trained_alone(model: Any, references: Mapping[str, Any]) -> list[Any]:
    """The models, with the members of mixtures in their place."""
    members = [each.members if isinstance(each, TrainedMixture) else (each,) for each in (model, *references.values())]
    return [each for some in members for each in some]


def stored_models(model: Any, references: Mapping[str, Any]) -> tuple[StoredModels, Arrays]:
    """`model` is one of the references after a fall back, and else a model of its own."""
    handed: Any = next((name for name, reference in references.items() if reference is model), NEW)
    stored: dict[str, StoredModel] = {}
    arrays: Arrays = {}
    for name, each in {**references, handed: model}.items():
        stored[name], own = _stored(each)
        arrays |= _within(f"model.{name}", own)
    return StoredModels(handed_back=handed, models=stored), arrays


def read_models(
    facts: StoredModels, arrays: Arrays, labels: Labels, n_features: int, module: torch.nn.Module | None
) -> tuple[Any, dict[str, Any]]:
    """A ValueError, KeyError or TypeError where facts and arrays do not fit together."""
    if not set(facts.models) <= {*REFERENCES, NEW}:
        raise ValueError("the models have names that are not known")
    made = {
        name: _read(each, _without(f"model.{name}", arrays), labels, n_features, module)
        for name, each in facts.models.items()
    }
    return made[facts.handed_back], {name: each for name, each in made.items() if name != NEW}


def _stored(model: Any) -> tuple[StoredModel, Arrays]:
    if isinstance(model, TrainedMixture):
        arrays: Arrays = {}
        members = []
        for number, member in enumerate(model.members):
            told, own = _stored(member)
            members.append(told)
            arrays |= _within(str(number), own)
        facts = {"weights": list(map(float, model.weights)), "sharpness": list(map(float, model.sharpness))}
        return StoredModel(kind="mixture", facts=facts, members=members), arrays
    if isinstance(model, TrainedReshaped):
        told, arrays = _stored(model.model)
        reshaped = {"scale": asdict(model.scale), "off": list(model.off)}
        return StoredModel(kind="reshaped", facts=reshaped, members=[told]), arrays
    if isinstance(model, TrainedEstimator):
        dumped = np.frombuffer(estimator_to_bytes(model.estimator), dtype=np.uint8)
        return StoredModel(kind="estimator", facts={"name": type(model.estimator).__name__}), {"skops": dumped}
    if isinstance(model, TrainedModel):
        architecture, arrays = models_to_state(model, {ALONE: model})
        return StoredModel(kind="model", facts=msgspec.to_builtins(architecture)), arrays
    kind: Any = next(kind for kind, made in FAMILIES.items() if isinstance(model, made))
    facts, arrays = model.state()
    return StoredModel(kind=kind, facts=facts), {name: np.ascontiguousarray(each) for name, each in arrays.items()}


def _read(stored: StoredModel, arrays: Arrays, labels: Labels, n_features: int, module: torch.nn.Module | None) -> Any:
    facts, classes = stored.facts, labels.classes
    if stored.kind == "mixture":
        members = stored.members or []
        if any(member.kind == "mixture" for member in members):
            raise ValueError("a mixture is a member of another")
        made = [
            _read(member, _without(str(number), arrays), labels, n_features, module)
            for number, member in enumerate(members)
        ]
        return TrainedMixture(
            tuple(made), tuple(map(float, facts["weights"])), classes, tuple(map(float, facts["sharpness"]))
        )
    if stored.kind == "reshaped":
        (member,) = stored.members or []
        if member.kind in ("mixture", "reshaped") or classes is not None:
            raise ValueError("a model on another scale needs one of numbers within")
        within = _read(member, arrays, labels, n_features, module)
        return TrainedReshaped(within, Scale(**facts["scale"]), tuple(map(float, facts["off"])))
    if stored.kind == "estimator":
        return TrainedEstimator(estimator_from_bytes(arrays["skops"].tobytes(), str(facts["name"])), classes)
    if stored.kind == "model":
        return models_from_state(msgspec.convert(facts, Architecture), arrays, labels, n_features, module)[0]
    if type(facts["n_features"]) is not int or facts["n_features"] != n_features:
        raise ValueError(f"a model takes {facts['n_features']!r} columns, and the rows have {n_features}")
    return FAMILIES[stored.kind].from_state(facts, arrays, classes)


def _within(prefix: str, arrays: Arrays) -> Arrays:
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def _without(prefix: str, arrays: Arrays) -> Arrays:
    begin = f"{prefix}."
    return {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
