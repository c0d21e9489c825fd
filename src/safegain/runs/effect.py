"""What the rows of a fit say once the models are trained: which labels matter most to check, and where models differ.

Checking row i puts its true label y, with weight 1, in the place of the target q_i that it was trained on with weight
w_i. In the outputs z_i, whose class probabilities are p_i, the gradient of its loss moves by

    (p_i - e_y) - w_i (p_i - q_i) = pull_i - e_y,    pull_i = w_i q_i + (1 - w_i) p_i:

a row that counts less pulls less, as if its target were nearer to what the model says already. A step on that row of
unit rate changes the mean trusted loss, with gradient v in the parameters, by (J_i v) . (e_y - pull_i) to first order,
and `effect` is the mean of its size over what y may be. For numbers read z for p, y for e_y, and 2 (z - y) for the
gradient.

What y may be has two opinions, the pull and the model's own, and they count alike. With the pull alone, every effect
would be zero after a fall back, where targets are the labels as given: certain, and never looked into.

A model without parameters to take a step in (trees, an estimator of the user's) has no v. There `effect` is how far
checking is expected to move the row's own target: zdot is one for every class, the distance half of sum |e_y - pull|.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from torch import Tensor

from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.data.digest import row_blocks
from safegain.data.labels import one_hot
from safegain.data.ranks import Ranks
from safegain.data.rows import BLOCK_ROWS, by_blocks
from safegain.estimators.record import Record
from safegain.learners.trained import TrainedModel


@dataclass(frozen=True)
class Steering:
    """How parameters steer the mean loss of the trusted rows."""

    gradient: Tensor  # (p,)
    deviation: float  # numbers: root mean square of the trusted rows' residuals, in standard deviations of the label


def of_rows(record: Record, rows: Any) -> pd.DataFrame:
    """effect, disagrees and, of numbers, what is expected, of the rows of a fit: in two passes over them."""
    labels, model, reference = record.labels, record.model, record.references[record.reference]
    if rows.shape[0] != len(labels):
        raise ValueError(f"X: has {rows.shape[0]} rows and the fit had {len(labels)}; pass the X of the fit")
    if not isinstance(model, TrainedModel):
        return _without_steps(record, rows)
    # Rows set aside for a certificate have no say in which labels are looked at next.
    heard = record.trusted & ~record.set_aside
    numbers = labels.numbers if labels.classes is not None else (labels.given - model.y_mean) / model.y_scale
    steering = trusted_steering(model, rows, numbers, heard, labels.ranks)
    effect, disagrees, first = np.zeros(len(labels)), np.zeros(len(labels), bool), 0
    expected = None if labels.classes is not None else np.empty(len(labels))
    for block in row_blocks(rows, _most(model, rows)):
        here = slice(first, first := first + block.shape[0])
        z, zdot = model.model.tangent(model.theta, model.inputs.rows(block), steering.gradient)
        z, zdot = z.double(), zdot.double()
        effect[here] = _effect(record, model, here, z, zdot, steering).numpy()
        if expected is not None:
            expected[here] = z[:, 0].numpy() * model.y_scale + model.y_mean
        if model is not reference:
            disagrees[here] = _differ(z, reference.outputs(block).double()).numpy()
    effect[record.trusted] = 0.0
    found = pd.DataFrame({"effect": effect, "disagrees": disagrees})
    return found if expected is None else found.assign(expected=expected)


def _without_steps(record: Record, rows: Any) -> pd.DataFrame:
    labels, model, reference = record.labels, record.model, record.references[record.reference]
    expected = None if labels.classes is not None else np.asarray(by_blocks(model.predict, rows), dtype=float)
    if expected is None:
        p = torch.from_numpy(np.asarray(by_blocks(model.predict_proba, rows), dtype=float))
        w = torch.from_numpy(record.weight)
        pull = w[:, None] * torch.from_numpy(record.moved) + (1 - w)[:, None] * p
        effect = ((pull + p) / 2 * (1 - pull)).sum(dim=1).numpy()
        disagrees = by_blocks(model.predict, rows) != by_blocks(reference.predict, rows)
    else:
        heard = record.trusted & ~record.set_aside
        deviation = float(np.sqrt(np.mean(np.square(expected - labels.given)[heard])))
        z, target = torch.from_numpy(expected), torch.from_numpy(record.corrected)
        effect = effect_on_numbers(z, torch.ones_like(z), torch.from_numpy(record.weight), target, deviation).numpy()
        disagrees = np.abs(expected - by_blocks(reference.predict, rows)) > 0.5 * labels.scale
    effect[record.trusted] = 0.0
    found = pd.DataFrame({"effect": effect, "disagrees": np.asarray(disagrees)})
    return found if expected is None else found.assign(expected=expected)


def trusted_steering(
    trained: TrainedModel, rows: Any, numbers: np.ndarray, heard: np.ndarray, ranks: Ranks
) -> Steering:
    """The gradient of the mean loss of the rows of the mask `heard`, on all ranks."""
    n, classifies = ranks.count(heard.sum()), trained.classes is not None
    loss = CrossEntropy() if classifies else SquaredError()
    total, squares, first = torch.zeros_like(trained.theta), torch.zeros(1, dtype=torch.float64), 0
    for block in row_blocks(rows, _most(trained, rows)):
        here = slice(first, first := first + block.shape[0])
        if not heard[here].any():
            continue
        y = torch.from_numpy(numbers[here][heard[here]])
        target = one_hot(y, len(trained.classes_), total.dtype) if classifies else y.to(total.dtype)

        def pulled(z: Tensor, target: Tensor = target) -> Tensor:
            g = loss.grad(z, target)
            squares.add_((g.detach() / 2).double().square().sum())
            return g / n

        total += trained.model.pullback(trained.theta, trained.inputs.rows(block[heard[here]]), pulled)
    ranks.sum(total)
    return Steering(total, float(ranks.sum(squares)[0] / n) ** 0.5)


def _effect(record: Record, model: TrainedModel, here: slice, z: Tensor, zdot: Tensor, steering: Steering) -> Tensor:
    labels, w = record.labels, torch.from_numpy(record.weight[here])
    if labels.classes is not None:
        return effect_on_classes(torch.softmax(z, dim=1), zdot, w, torch.from_numpy(record.moved[here]))
    target = torch.from_numpy((record.corrected[here] - model.y_mean) / model.y_scale)
    standardised = effect_on_numbers(z[:, 0], zdot[:, 0], w, target, steering.deviation)
    return standardised * model.y_scale**2


def effect_on_classes(p: Tensor, zdot: Tensor, w: Tensor, q: Tensor) -> Tensor:
    """sum_y belief_y |zdot . (e_y - pull)|, with p, zdot and q (n, k)  # (n,)"""
    pull = w[:, None] * q + (1 - w)[:, None] * p
    belief = (pull + p) / 2
    return (belief * (zdot - (zdot * pull).sum(dim=1, keepdim=True)).abs()).sum(dim=1)


def effect_on_numbers(z: Tensor, zdot: Tensor, w: Tensor, target: Tensor, deviation: float) -> Tensor:
    """2 |zdot| E|y - pull|, where y is off one of the two opinions by as much as trusted labels are off the model."""
    pull = w * target + (1 - w) * z
    return zdot.abs() * (_mean_distance(torch.zeros_like(z), deviation) + _mean_distance(z - pull, deviation))


def _mean_distance(mean: Tensor, deviation: float) -> Tensor:
    """E|x| of a normal x."""
    if deviation == 0:
        return mean.abs()
    t = mean / deviation / 2**0.5
    return deviation * (2 / torch.pi) ** 0.5 * torch.exp(-t.square()) + mean * torch.erf(t)


def _differ(z: Tensor, other: Tensor) -> Tensor:
    """Another class, or a number half a standard deviation of the label away."""
    if z.shape[1] == 1:
        return (z - other).abs()[:, 0] > 0.5
    return z.argmax(dim=1) != other.argmax(dim=1)


def _most(trained: TrainedModel, rows: Any) -> int:
    """Rows of a block; fewer where a user's module keeps much for each."""
    if trained.inputs.linear or scipy.sparse.issparse(rows):
        return BLOCK_ROWS
    return min(BLOCK_ROWS, trained.model.block_rows(trained.inputs.rows(rows[:2])))
