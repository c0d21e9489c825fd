"""PGS, then what everybody else gets: the search's weights and labels, trained on by the recipe that is shared.

The search trains a small model many times, by plain gradient descent, on the weak rows alone. What it finds out about
the rows is worth more than that model: it is handed to the recipe together with the trusted rows. How sharply the
weights are taken, and whether they are taken at all, is decided on the held-out trusted rows; not at all is the
baseline itself. docs/decisions/0006 has the measurements.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin, clone
from sklearn.linear_model import LinearRegression
from torch import Tensor
from torch.nn.functional import cross_entropy

from safegain.estimators import PGSClassifier, PGSRegressor
from safegain.methods.base import MethodRegressor, NetworkClassifier, Weak, fresh, to_material
from safegain.methods.recipe import Material, Network, Objective, Recipe, held_out_loss, train
from safegain.methods.supervised import CrossEntropy
from safegain.search_space import Point

POWERS = (1, 2, 4)  # of the weights; a search of few steps tells rows apart but does not push weights to 0 and 1
SHARES = (1.0, 0.3, 0.1, 0.03)  # of the doubtful rows' weight
FIRM = 1.64  # standard errors: one-sided, at 5%


class Weighted(Objective):
    """sum_i w_i l(z_i, q_i), with rows of weight zero left out."""

    def __init__(
        self, network: Network, material: Material, generator: torch.Generator, *, weights: Tensor, targets: Tensor
    ) -> None:
        super().__init__(network, material, generator)
        self.weights, self.targets = weights, targets
        self.rows = weights.nonzero()[:, 0]

    def loss(self, rows: Tensor, progress: float) -> Tensor:
        losses = cross_entropy(self.logits(rows), self.targets[rows], reduction="none")
        return (self.weights[rows] * losses).mean()


class PGSRefit(NetworkClassifier):
    """The search of PGS for weights and labels, then the shared recipe on them and on the trusted rows.

    Parameters
    ----------
    search : PGSClassifier or None
        How to search; None is a network with 50 inner and 8 outer steps.

    Attributes
    ----------
    search_ : the fitted PGSClassifier, with the search's own model
    sample_weight_ : (n,) what each row counted in the end; zero for a row without a label that was left out
    corrected_labels_ : (n,) what the final network says of the weak rows; the trusted rows' own labels
    """

    def __init__(
        self,
        search: PGSClassifier | None = None,
        *,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.search = search
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _objective(self, network: Network, material: Material, generator: torch.Generator) -> Objective:
        return CrossEntropy(network, material, generator)  # the baseline, which is the first candidate

    def _fit(self, weak: Weak, random: np.random.RandomState) -> None:
        usual = PGSClassifier("mlp", n_inner=50, lr_inner=1.0, n_outer=8, lr_outer=0.1)
        self.search_, last = searched(self.search or usual, weak, self.selection_fraction, self.random_state, random)
        self.held_out_ = weak.held = self.search_.held_out_
        super()._fit(weak, random)
        material, recipe = to_material(weak, self.inputs_), self.recipe or Recipe()
        self.sample_weight_ = weak.labels.labelled.astype(np.float64)
        least = held_out_loss(self.fitted_, material)
        generator = torch.Generator().manual_seed(random.randint(2**31))
        for weights, targets in candidates(material, last):
            objective = Weighted(
                fresh(material, recipe, generator), material, generator, weights=weights, targets=targets
            )
            network = train(objective, recipe)
            loss = held_out_loss(network, material)
            if loss < least:
                self.fitted_, least = network, loss
                self.sample_weight_[~weak.held] = weights.numpy()
        self.corrected_labels_ = self.classes_[weak.labels.numbers]
        self.corrected_labels_[~weak.trusted] = self.predict(weak.rows[~weak.trusted])


def searched(
    search: Any, weak: Weak, selection_fraction: float, random_state: Any, random: np.random.RandomState
) -> tuple[Any, Point]:
    """The fitted search and its last iterate, which has told the rows apart best."""
    points: list[Point] = []
    seed = int(random_state) if isinstance(random_state, int | np.integer) else random.randint(2**31)
    search = clone(search).set_params(selection_fraction=selection_fraction, random_state=seed)
    search.set_params(callbacks=[*(search.callbacks or ()), lambda _, candidate: points.append(candidate.point)])
    search.fit(weak.rows, weak.labels.given, trusted=weak.trusted)
    return search, points[-1]


def candidates(material: Material, last: Point) -> Iterator[tuple[Tensor, Tensor]]:
    """Weights (n,) and targets (n, k). Labels stay as given, since Q repeats the search model's own mistakes; rows
    without one have nothing better than Q.
    """
    weak, dtype = ~material.trusted, material.X.dtype
    labelled = material.y >= 0
    targets = torch.zeros(len(weak), material.n_classes, dtype=dtype)
    targets.scatter_(1, material.y.clamp(min=0)[:, None], 1)
    w = torch.ones(len(weak), dtype=dtype)
    w[weak] = last.w.to(dtype)
    if labelled.all():
        yield from ((w**power, targets) for power in POWERS)
        return
    Q = targets.clone()
    Q[weak] = last.Q.to(dtype)
    targets = torch.where(labelled[:, None], targets, Q)
    yield from ((torch.where(labelled, 1.0, share * w), targets) for share in SHARES[:2])


class PGSRefitRegressor(RegressorMixin, MethodRegressor):
    """The search of PGS for weights and shifts, then least squares on them and on the trusted rows.

    The baseline, least squares with every label as given, is left only for a candidate that is better on the held-out
    rows by a paired one-sided test at 5%: they may be few, and the candidates are many.

    Parameters
    ----------
    search : PGSRegressor or None
        How to search; None is PGSRegressor with its defaults, ridge regression.

    Attributes
    ----------
    search_ : the fitted PGSRegressor, with the search's own model
    sample_weight_ : (n,) what each row counted in the end; zero for a row that was left out
    corrected_labels_ : (n,) the labels that were trained on
    """

    def __init__(
        self, search: PGSRegressor | None = None, *, selection_fraction: float = 0.5, random_state: Any = None
    ) -> None:
        self.search = search
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _fit(self, weak: Weak, random: np.random.RandomState) -> None:
        search = self.search or PGSRegressor("ridge")
        self.search_, _ = searched(search, weak, self.selection_fraction, self.random_state, random)
        self.held_out_ = weak.held = self.search_.held_out_
        X = weak.rows.astype(np.float64, copy=False)
        chosen = best_candidate(X, weak, list(linear_candidates(self.search_, weak)))
        self.fitted_ = chosen.fit(X, np.ones(len(X), dtype=bool))
        self.sample_weight_, self.corrected_labels_ = chosen.weights, chosen.labels

    def predict(self, X: Any) -> np.ndarray:
        """The predicted label of each row of X."""
        return self.fitted_.predict(self._rows(X).astype(np.float64, copy=False))


@dataclass(frozen=True)
class Candidate:
    weights: np.ndarray
    labels: np.ndarray

    def fit(self, X: np.ndarray, rows: np.ndarray) -> LinearRegression:
        kept = rows & (self.weights > 0)
        return LinearRegression().fit(X[kept], self.labels[kept], sample_weight=self.weights[kept])


def linear_candidates(search: PGSRegressor, weak: Weak) -> Iterator[Candidate]:
    """The baseline first; then weights and labels of the search, the doubtful rows counting more or less."""
    labelled, corrected = weak.labels.labelled, search.corrected_labels_
    given = np.where(labelled, weak.labels.given, corrected - search.label_shift_)
    yield Candidate(labelled.astype(np.float64), given)
    noisy = labelled.all()
    doubtful = ~weak.trusted if noisy else ~labelled
    for share in (*SHARES, 0.0) if noisy else SHARES:
        for power, labels in ((1, corrected), *((power, given) for power in POWERS)):
            yield Candidate(np.where(doubtful, share * search.sample_weight_**power, 1.0), labels)


def best_candidate(X: np.ndarray, weak: Weak, candidates: list[Candidate]) -> Candidate:
    held, y = weak.held, weak.labels.given[weak.held]
    if not held.any():
        return candidates[0]
    losses = np.array([(each.fit(X, ~held).predict(X[held]) - y) ** 2 for each in candidates])
    gains = losses[0] - losses  # row by row
    error = gains.std(axis=1) / np.sqrt(held.sum())
    firm = gains.mean(axis=1) > FIRM * error
    firm[0] = True
    return candidates[int(np.where(firm, losses.mean(axis=1), np.inf).argmin())]
