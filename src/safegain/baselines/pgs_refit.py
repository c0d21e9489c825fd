"""PGS, then what everybody else gets: the search's weights and labels, trained on by the recipe that is shared.

The search trains its model on the weak rows alone. What it finds out about the rows is handed to the recipe together
with the trusted rows. How sharply the weights are taken, and whether they are taken at all, is decided on the held-out
trusted rows; not at all is the baseline itself. docs/decisions/0006 has the measurements.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.baselines.base import NetworkClassifier, WeakData, fresh, seed_of, to_material
from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import near
from safegain.data.labels import one_hot
from safegain.estimators import PGSClassifier
from safegain.learners.recipe import RECIPE, DropoutNetwork, Material, Objective, Recipe, train
from safegain.search.contest import calibrated_log_losses
from safegain.search.free import Free

POWERS = (1, 2)  # of the weights; a search of few steps tells rows apart but does not push weights to 0 and 1
SHARES = (1.0, 0.3)  # of the weight of rows without a label
FIRM = 1.64  # standard errors: one-sided, at 5%


class WeightedLoss(Objective):
    """sum_i w_i l(z_i, q_i), with rows of weight zero left out."""

    def __init__(
        self,
        network: DropoutNetwork,
        material: Material,
        generator: torch.Generator,
        *,
        weights: Tensor,
        targets: Tensor,
    ) -> None:
        super().__init__(network, material, generator)
        self.weights, self.targets = weights, targets
        self.rows = weights.nonzero()[:, 0]

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        losses = cross_entropy(self.logits(rows), self.targets[rows], reduction="none")
        return (self.weights[rows] * losses).mean()


class PGSRefit(NetworkClassifier):
    """The search of PGS for weights and labels, then the shared recipe on them and on the trusted rows.

    The baseline is left for the candidate with the least log-loss on the held-out trusted rows, at its best
    temperature, if the gain is more than 1.64 of its standard errors and mistakes are no more than chance would
    explain. Classes count there as often as among the labels of the weak rows. With fewer than 40 trusted rows none is
    held out, and the baseline is what comes back.

    Parameters
    ----------
    search : PGSClassifier or None
        How to search; None is PGSClassifier("network", search="free"), with its defaults.

    Attributes
    ----------
    search_ : the fitted PGSClassifier, with the search's own model
    sample_weight_ : (n,) what each row counted in the training; zero for rows that were left out or held out
    corrected_labels_ : (n,) what the final network says of the weak rows; the trusted rows' own labels
    """

    def __init__(
        self,
        search: PGSClassifier | None = None,
        *,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.search = search
        super().__init__(
            n_hidden=n_hidden, recipe=recipe, selection_fraction=selection_fraction, random_state=random_state
        )

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        usual = PGSClassifier("network", search=Free(semi_supervised=True), reference="raw")
        seed = seed_of(self.random_state, random)
        self.search_, last = searched(self.search or usual, weak, self.selection_fraction, seed)
        self.held_out_ = weak.held = self.search_.held_out_
        super()._fit(weak, random)  # the baseline
        self.sample_weight_ = (weak.labels.labelled & ~weak.held).astype(np.float64)
        material = to_material(weak, self.inputs_)
        if weak.held.any():
            self._improve(material, last, torch.Generator().manual_seed(random.randint(2**31)))
        with torch.no_grad():
            predicted = self.fitted_(self.inputs_.rows(weak.rows)).argmax(dim=1).numpy()
        self.corrected_labels_ = self.classes_[np.where(weak.trusted, weak.labels.numbers, predicted)]

    def _improve(self, material: Material, last: Point, generator: torch.Generator) -> None:
        """Replace the baseline by the candidate that knows most of the held-out rows (docs/decisions/0006).

        Mistakes are few and coarse; log-loss at the best temperature takes every row into account and does not mind
        how sure a network is.
        """
        recipe, count = self.recipe or RECIPE, counts_of_held_out(material)
        known, allowed = judged(self.fitted_, material, count)
        least = float(known.mean())
        for weights, targets in candidates(material, last):
            start = fresh(material, self.n_hidden, recipe, generator)
            network = train(WeightedLoss(start, material, generator, weights=weights, targets=targets), recipe)
            losses, wrong = judged(network, material, count)
            if is_gain(known - losses) and near(wrong, allowed) and float(losses.mean()) < least:
                self.fitted_, least = network, float(losses.mean())
                self.sample_weight_[~self.held_out_] = weights.numpy()


def is_gain(gains: Tensor) -> bool:
    """Row by row: larger than chance explains."""
    return bool(gains.mean() > FIRM * gains.std() / len(gains) ** 0.5)


def counts_of_held_out(material: Material) -> Tensor:
    """With classes as frequent as among the labels of the weak rows: trusted rows may have others  # (m,), mean 1"""
    k, labelled = material.n_classes, ~material.trusted & (material.y >= 0)
    there, here = (torch.bincount(y, minlength=k).double() for y in (material.y[labelled], material.y_held))
    count = (there / here)[material.y_held]
    return count / count.mean()


def judged(network: DropoutNetwork, material: Material, count: Tensor) -> tuple[Tensor, Tensor]:
    """On the held-out rows: log-losses at the best temperature, and mistakes, each as often as the row counts."""
    with torch.no_grad():
        z = network(material.X_held)
    return count * calibrated_log_losses(z, material.y_held), count * (z.argmax(dim=1) != material.y_held)


def searched(search: Any, weak: WeakData, selection_fraction: float, seed: int) -> tuple[Any, Point]:
    """The fitted search and its last iterate, which has told the rows apart best."""
    points: list[Point] = []
    search = clone(search).set_params(search__held_out=selection_fraction, random_state=seed)
    own = search.search.callbacks
    search.set_params(search__callbacks=(*own, lambda _, candidate: points.append(candidate.point)))
    search.fit(weak.rows, weak.labels.given, trusted=weak.trusted)
    return search.set_params(search__callbacks=own), points[-1]


def candidates(material: Material, last: Point) -> Iterator[tuple[Tensor, Tensor]]:
    """Weights (n,) and targets (n, k). Labels stay as given, since Q repeats the search model's own mistakes; rows
    without one have nothing better than Q.
    """
    weak, labelled, dtype = ~material.trusted, material.y >= 0, material.X.dtype
    targets = one_hot(material.y, material.n_classes, dtype)
    w = torch.ones(len(weak), dtype=dtype)
    w[weak] = last.w.to(dtype)
    if labelled.all():
        for power in POWERS:
            yield torch.where(weak, level(w**power, material.y, weak, material.n_classes), 1.0), targets
        return
    Q = targets.clone()
    Q[weak] = last.Q.to(dtype)
    targets = torch.where(labelled[:, None], targets, Q)
    yield from ((torch.where(labelled, 1.0, share * w), targets) for share in SHARES)


def level(w: Tensor, y: Tensor, rows: Tensor, k: int) -> Tensor:
    """w over its mean within each class of `rows`: trusted rows with other class shares must not pass them on."""
    total = torch.zeros(k, dtype=w.dtype).index_add_(0, y[rows], w[rows])
    count = torch.bincount(y[rows], minlength=k)
    return w * (count / total.clamp(min=1e-12))[y]
