"""Test accuracy of every iterate of the search, for figure-iterations; no method to compare."""

from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from experiments.search import free_network

NAME = "iterates of PGS"


def measure(problem: Any, seed: int, *, quick: bool, n_inner: int) -> dict[str, Any]:
    """Accuracy in % of the iterates 0, 1, 2, ...; the first is the raw model."""
    iterates: list[Tensor] = []

    def keep(record: dict[str, Any], candidate: Any) -> None:
        iterates.append(candidate.theta.clone())

    upper = {"n_outer": 2 if quick else 20, "lr_outer": 0.1, "held_out": 0.5, "callbacks": [keep]}
    model = free_network(seed, n_steps=n_inner, rate=1.0, **upper)
    model.fit(problem.X, problem.y, trusted=problem.trusted)
    predicted = [replace(model.references_["raw"], theta=theta).predict(problem.X_test) for theta in iterates]
    return {"accuracy": [100 * float(np.mean(labels == problem.y_test)) for labels in predicted]}
