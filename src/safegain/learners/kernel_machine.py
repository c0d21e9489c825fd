"""A kernel machine on landmarks: ridge regression on the target, and for classes a calibration of its scores.

Width and penalty are those whose leave-one-out predictions fit the target best; both come in closed form from one
eigendecomposition for each width (kernel.py has the formulas). Rows weigh as sqrt(w) times features and targets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from safegain.data.devices import CPU, training_device
from safegain.data.inputs import Inputs, fit_inputs
from safegain.data.settings import check, is_number, is_whole, setting
from safegain.learners.base import SCALINGS, Arrays, Family, TrainedFamily
from safegain.learners.calibration import calibrate
from safegain.learners.kernel import BLOCK_ROWS, MOST_FITTED, MOST_KEPT, Kernel, best_width, n_landmarks
from safegain.learners.scaled_inputs import check_array, inputs_from_state, inputs_state
from safegain.learners.target import Target

WIDTHS = (0.125, 0.5, 2.0, 8.0)
PENALTIES = (1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
TRIED_ROWS, TRIED_LANDMARKS = 4000, 600  # on which the width is chosen
JUDGED = 2000  # rows whose left-out predictions choose width and penalty
MOST_CALIBRATING = 20_000  # rows whose left-out scores are calibrated
LEAST_LANDMARKS = 500


@setting
class KernelMachine(Family):
    """Ridge regression on a Gaussian kernel between rows and landmarks.

    Parameters
    ----------
    n_landmarks : rows that all others are compared with; None is up to 2,000, fewer for many rows
    width : of the kernel, in mean squared distances between landmarks; None tries several
    penalty : of the ridge regression; None tries several
    scaling : of the columns, as for Network
    """

    n_landmarks: int | None = None
    width: float | None = None
    penalty: float | None = None
    scaling: str = "auto"

    def __post_init__(self) -> None:
        some = self.n_landmarks
        check(self, "n_landmarks", "be a whole number of at least 2", some is None or is_whole(some, least=2))
        for name in ("width", "penalty"):
            value = getattr(self, name)
            check(self, name, "be a positive number", value is None or (is_number(value) and value > 0))
        check(self, "scaling", f"be one of {', '.join(SCALINGS)}", self.scaling in SCALINGS)

    def settled(self, X: np.ndarray, target: Target, seed: int) -> "KernelMachine":
        return self if self.width else self._with_width(*self._drawn(X, target, seed)[1:])

    def train(self, X: np.ndarray, target: Target, seed: int) -> "TrainedKernelMachine":
        inputs, rows, target = self._drawn(X, target, seed)
        width = self.width or self._with_width(rows, target).width
        assert width is not None
        # Half of the rows: more gain little where rows are few.
        m = self.n_landmarks or min(n_landmarks(len(rows)), max(len(rows) // 2, LEAST_LANDMARKS))
        ridge = _Ridge(Kernel.of(rows[:m], width), rows, target)
        penalty = self.penalty or ridge.best()[0]
        return TrainedKernelMachine(
            inputs, ridge.kernel.landmarks.to(CPU), ridge.kernel.reach, *ridge.fit(penalty), target.classes
        )

    def _with_width(self, rows: Tensor, target: Target) -> "KernelMachine":
        part, some = rows[:TRIED_ROWS], target.taken(np.arange(min(TRIED_ROWS, len(rows))))

        def loss(width: float) -> float:
            ridge = _Ridge(Kernel.of(part[:TRIED_LANDMARKS], width), part, some)
            return ridge.best()[1] if self.penalty is None else ridge.loss(self.penalty)

        return replace(self, width=best_width(WIDTHS, loss))

    def _drawn(self, X: np.ndarray, target: Target, seed: int) -> tuple[Inputs, Tensor, Target]:
        """The rows that count, scaled, in random order: the first are landmarks."""
        kept = np.random.default_rng(seed).permutation(np.flatnonzero(target.weights > 0))[:MOST_FITTED]
        inputs = fit_inputs(X[kept], model="network", scaling=self.scaling)
        return inputs, inputs.rows(X[kept]).float().to(training_device()), target.taken(kept)

    def cost(self, n: int, d: int, k: int) -> float:
        m, n = self.n_landmarks or n_landmarks(n), min(n, MOST_FITTED)
        tried = 0.0 if self.width else 1.5 * min(n / TRIED_ROWS, 1.0)
        return 0.05 + tried + 2.5e-10 * m**3 + n * m * (m + d + 10 * k) * 6e-11


class _Ridge:
    """Rotated features of all rows, kept where they are few, and what every penalty needs."""

    def __init__(self, kernel: Kernel, rows: Tensor, target: Target) -> None:
        self.kernel, self.rows, self.target = kernel, rows, target
        self.device = rows.device
        self.root = torch.from_numpy(np.sqrt(target.weights)).float()[:, None].to(self.device)
        self.table = torch.from_numpy(np.ascontiguousarray(target.table)).float().to(self.device)
        self.centre = torch.from_numpy(target.mean).float().to(self.device)
        r, k = kernel.root.shape[1], self.table.shape[1]
        gram, moment = (torch.zeros(r, columns, dtype=torch.float64, device=CPU) for columns in (r, k))
        for block, F in self._passes(kernel.root):
            gram += (F.T @ F).to(CPU)
            moment += (F.T @ self._wanted(block)).to(CPU)
        values, vectors = torch.linalg.eigh(gram)
        self.gram, self.moment = values.clamp(min=0), vectors.T @ moment
        self.from_landmarks = (kernel.root.to(CPU).double() @ vectors).float().to(self.device)

    @cached_property
    def _kept(self) -> list[tuple[slice, Tensor]]:
        return list(self._passes(self.from_landmarks))

    def best(self) -> tuple[float, float]:
        """The penalty with the least loss, and that loss: from the largest down, while it falls."""
        found = (PENALTIES[-1], self.loss(PENALTIES[-1]))
        for penalty in reversed(PENALTIES[:-1]):
            if (loss := self.loss(penalty)) > found[1]:
                break
            found = (penalty, loss)
        return found

    def loss(self, penalty: float) -> float:
        """Of left-out predictions for some rows."""
        left_out = self._left_out(penalty, JUDGED)
        n = len(left_out)
        wanted, weight = self.table[:n].to(CPU), torch.from_numpy(self.target.weights[:n])
        if self.target.classes is None:
            squares = (left_out + self.centre.to(CPU) - wanted).double().square()[:, 0]
            return float((weight * squares).sum() / weight.sum())
        return calibrate(left_out, wanted, weight).loss

    def fit(self, penalty: float) -> tuple[Tensor, Tensor]:
        """Scores are K(x, L) times the first plus the second; for classes the calibration is within."""
        rotated = (self._shrunk(penalty)[:, None] * self.moment).float().to(self.device)
        of_landmarks = (self.from_landmarks @ rotated).to(CPU)
        if self.target.classes is None:
            return of_landmarks, self.centre.to(CPU)
        left_out = self._left_out(penalty, MOST_CALIBRATING)
        n = len(left_out)
        calibration = calibrate(left_out, self.table[:n].to(CPU), torch.from_numpy(self.target.weights[:n]))
        return of_landmarks * calibration.scale, calibration.bias

    def _shrunk(self, penalty: float) -> Tensor:
        return 1 / (self.gram + penalty)

    def _left_out(self, penalty: float, most: int) -> Tensor:
        """Predictions about the centre for the first rows, each by all rows but itself."""
        shrunk = self._shrunk(penalty)
        rotated = (shrunk[:, None] * self.moment).float().to(self.device)
        shrunk = shrunk.float().to(self.device)
        found = []
        for block, F in self._kept if len(self.rows) <= MOST_KEPT else self._passes(self.from_landmarks):
            if block.start >= most:
                break
            F, block = F[: most - block.start], slice(block.start, min(block.stop, most))
            own = (F.square() @ shrunk).clamp(max=0.999)[:, None]
            found.append((F @ rotated - own * self._wanted(block)) / (1 - own) / self.root[block])
        return torch.cat(found).to(CPU)

    def _wanted(self, block: slice) -> Tensor:
        return self.root[block] * (self.table[block] - self.centre)

    def _passes(self, from_landmarks: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Weighted features, some rows at a time."""
        for first in range(0, len(self.rows), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            yield block, self.root[block] * (self.kernel.to_landmarks(self.rows[block]) @ from_landmarks)


@dataclass(frozen=True)
class TrainedKernelMachine(TrainedFamily):
    inputs: Inputs
    landmarks: Tensor  # (l, d)
    reach: float
    of_landmarks: Tensor  # (l, k)
    bias: Tensor  # (k,)
    classes: np.ndarray | None

    def outputs(self, X: Any) -> np.ndarray:
        X = np.asarray(X)
        kernel = Kernel(self.landmarks, self.reach, self.of_landmarks)
        firsts = range(0, max(len(X), 1), BLOCK_ROWS)
        scores = torch.cat([kernel.features(self.inputs.rows(X[i : i + BLOCK_ROWS]).float()) for i in firsts])
        scores = scores.double() + self.bias.double()
        return (scores if self.classes is None else torch.softmax(scores, dim=1)).numpy()

    def state(self) -> tuple[dict[str, Any], Arrays]:
        facts, arrays = inputs_state(self.inputs)
        arrays |= {name: getattr(self, name).numpy() for name in ("landmarks", "of_landmarks", "bias")}
        return facts | {"reach": self.reach, "n_features": self.landmarks.shape[1]}, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: Arrays, classes: np.ndarray | None) -> Self:
        reach, d, k = facts["reach"], facts["n_features"], 1 if classes is None else len(classes)
        n = len(arrays["landmarks"])
        shapes = {"landmarks": (n, d), "of_landmarks": (n, k), "bias": (k,)}
        if not isinstance(reach, float) or not reach > 0 or not set(arrays) <= {*shapes, "mean", "scale"} or not n:
            raise ValueError("a kernel machine has no reach or no landmarks, or arrays that it does not know")
        for name, shape in shapes.items():
            check_array(name, arrays[name], shape, np.float32)
        # Memory of torch's own, aligned as it was in the fit: products then have the same bits.
        made = [torch.from_numpy(arrays[name]).clone() for name in shapes]
        return cls(inputs_from_state(facts, arrays, d), made[0], reach, made[1], made[2], classes)
