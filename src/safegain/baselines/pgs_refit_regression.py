"""PGS for numbers: the search's weights and shifts, then least squares on them and on the trusted rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from safegain.baselines.base import WeakData, seed_of
from safegain.baselines.pgs_refit import FIRM, searched
from safegain.baselines.regression import LinearMethod
from safegain.estimators import PGSRegressor
from safegain.search.free import Free

SHARES = (1.0, 0.3, 0.1, 0.03)  # of the doubtful rows' weight
POWERS = (1, 2, 4)


@dataclass(frozen=True)
class Candidate:
    """Least squares on standardised labels; rows of weight zero are left out."""

    weights: np.ndarray
    labels: np.ndarray

    def fit(self, X: np.ndarray, rows: np.ndarray) -> LinearRegression:
        kept = rows & (self.weights > 0)
        weights = self.weights[kept]
        # Without weights where they are all one, so that the baseline is the baseline to the last bit.
        return LinearRegression().fit(
            X[kept], self.labels[kept], sample_weight=None if (weights == 1).all() else weights
        )


class TunedBaselineRegressor(LinearMethod):
    """Least squares with labels as given, the weight of doubtful rows against trusted ones chosen on held-out rows.

    What `PGSRefitRegressor` would be without its search.
    """

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        ones = np.ones(len(X))
        chosen = best_candidate(X, weak, list(linear_candidates(weak, ones, weak.labels.numbers)))
        return chosen.fit(X, np.ones(len(X), dtype=bool))


class PGSRefitRegressor(LinearMethod):
    """The search of PGS for weights and shifts, then least squares on them and on the trusted rows.

    The baseline, least squares with every label as given, is left only for a candidate whose gain on the held-out rows
    is more than 1.64 of its standard errors: they may be few, and the candidates are many. (Each is tested at 5%, and
    their number is not corrected for.)

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

    def _model(self, X: np.ndarray, weak: WeakData, random: np.random.RandomState) -> Any:
        seed = seed_of(self.random_state, random)
        search, _ = searched(
            self.search or PGSRegressor("linear", search=Free(semi_supervised=True), reference="raw"),
            weak,
            self.selection_fraction,
            seed,
        )
        self.search_, self.held_out_ = search, search.held_out_
        weak.held = search.held_out_
        mean, scale = weak.labels.mean, weak.labels.scale
        corrected = (search.corrected_labels_ - mean) / scale
        chosen = best_candidate(X, weak, list(linear_candidates(weak, search.sample_weight_, corrected)))
        self.sample_weight_, self.corrected_labels_ = chosen.weights, chosen.labels * scale + mean
        return chosen.fit(X, np.ones(len(X), dtype=bool))


def linear_candidates(weak: WeakData, w: np.ndarray, corrected: np.ndarray) -> Iterator[Candidate]:
    """The baseline first; then weights and labels of the search, the doubtful rows counting more or less."""
    labelled = weak.labels.labelled
    given = np.where(labelled, weak.labels.numbers, corrected)
    yield Candidate(labelled.astype(np.float64), given)
    noisy = labelled.all()
    doubtful = ~weak.trusted if noisy else ~labelled
    if np.isnan(given).any():
        return  # without a search, rows without a label have nothing to offer
    for share in SHARES:
        for power, labels in ((1, corrected), *((power, given) for power in POWERS)):
            yield Candidate(np.where(doubtful, share * w**power, 1.0), labels)
    if noisy:
        yield Candidate(weak.trusted.astype(np.float64), given)


def best_candidate(X: np.ndarray, weak: WeakData, candidates: list[Candidate]) -> Candidate:
    held, y = weak.held, weak.labels.numbers[weak.held]
    if not held.any():
        return candidates[0]
    losses = np.array([(each.fit(X, ~held).predict(X[held]) - y) ** 2 for each in candidates])
    gains = losses[0] - losses  # row by row
    error = gains.std(axis=1) / np.sqrt(held.sum())
    firm = gains.mean(axis=1) > FIRM * error
    firm[0] = True
    return candidates[int(np.where(firm, losses.mean(axis=1), np.inf).argmin())]
