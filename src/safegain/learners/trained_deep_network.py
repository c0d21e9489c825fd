"""A trained network of several layers: plain products, and rows that are scaled and clipped smoothly."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import selu

from safegain.data.inputs import Inputs
from safegain.learners.base import Arrays, TrainedFamily
from safegain.learners.scaled_inputs import check_array, inputs_from_state, inputs_state

FAR = 3.0  # distances between quartiles, beyond which values hardly grow
FURTHEST = 1e9  # whose square is still a number
BLOCK_ROWS = 16_384  # that are predicted at a time


def clipped(rows: Tensor) -> Tensor:
    rows = rows.clamp(-FURTHEST, FURTHEST)
    return rows / (1 + (rows / FAR).square()).sqrt()


@dataclass(frozen=True)
class TrainedDeepNetwork(TrainedFamily):
    inputs: Inputs
    weights: tuple[Tensor, ...]  # (d, h), (h, h), ..., (h, k)
    biases: tuple[Tensor, ...]
    mean: float  # of numbers, whose unit comes next
    unit: float
    classes: np.ndarray | None

    def outputs(self, X: Any) -> np.ndarray:
        X = np.asarray(X)
        with torch.no_grad():
            found = [self._last(X[i : i + BLOCK_ROWS]) for i in range(0, max(len(X), 1), BLOCK_ROWS)]
        z = torch.cat(found).double()
        return (self.mean + self.unit * z if self.classes is None else torch.softmax(z, dim=1)).numpy()

    def _last(self, X: np.ndarray) -> Tensor:
        x = clipped(self.inputs.rows(X))
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = selu(torch.addmm(b, x, W))
        return torch.addmm(self.biases[-1], x, self.weights[-1])

    def state(self) -> tuple[dict[str, Any], Arrays]:
        facts, arrays = inputs_state(self.inputs)
        for number, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weights.{number}": W.numpy(), f"biases.{number}": b.numpy()}
        facts |= {"n_features": len(self.weights[0]), "n_products": len(self.weights)}
        return facts | {"mean": self.mean, "unit": self.unit}, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: Arrays, classes: np.ndarray | None) -> Self:
        n, d, k = facts["n_products"], facts["n_features"], 1 if classes is None else len(classes)
        mean, unit = facts["mean"], facts["unit"]
        if not all(type(each) is float and np.isfinite(each) for each in (mean, unit)) or facts["dtype"] != "float32":
            raise ValueError("a network has numbers without a mean and a unit, or takes rows of another type")
        if type(n) is not int or len(arrays) != 2 * n + 2:  # before anything is as long as this number says
            raise ValueError("a network has more or fewer arrays than its layers need")
        if set(arrays) != {"mean", "scale", *(f"{kind}.{i}" for kind in ("weights", "biases") for i in range(n))}:
            raise ValueError("a network lacks layers or its scaling, or has arrays that it does not know")
        sizes = [d, *(arrays[f"biases.{number}"].size for number in range(n - 1)), k]
        for number in range(n):
            check_array(f"weights.{number}", arrays[f"weights.{number}"], tuple(sizes[number : number + 2]), np.float32)
            check_array(f"biases.{number}", arrays[f"biases.{number}"], (sizes[number + 1],), np.float32)
        # Memory of torch's own, aligned as it was in the fit: products then have the same bits.
        made = [
            tuple(torch.from_numpy(arrays[f"{kind}.{number}"]).clone() for number in range(n))
            for kind in ("weights", "biases")
        ]
        return cls(inputs_from_state(facts, arrays, d), made[0], made[1], mean, unit, classes)
