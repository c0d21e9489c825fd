"""SafeW: the average of several learners that gains most over the baseline in the worst case.

Guo and Li, A general formulation for safely exploiting weakly supervised data, AAAI 2018. The truth is taken to be an
average f* = sum_i alpha_i f_i of the learners' predictions with weights alpha in a set M, and the answer is

    max_f min_{alpha in M}  loss(f0, f*) - loss(f, f*)

with f0 the baseline's predictions. M holds the weights on the simplex that never prefer a learner to one that does
better on held-out trusted rows. Weights are learned on the weak rows, and then serve for any row.
"""

from itertools import chain, combinations
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.optimize import linprog, nnls
from scipy.sparse import coo_array, hstack
from sklearn.base import RegressorMixin, clone

from safegain.baselines.base import MethodClassifier, MethodRegressor, WeakData, seed_of
from safegain.baselines.baseline import BaselineClassifier
from safegain.baselines.consistency import MeanTeacher, PiModel
from safegain.baselines.noise_layer import SModel
from safegain.baselines.reed import Reed
from safegain.baselines.regression import SVR, BaselineRegressor, Huber, SelfLS, TrustedOnlyRegressor
from safegain.learners.recipe import Recipe

Learners = list[tuple[str, Any]]


def ordered_weights(losses: np.ndarray) -> np.ndarray:
    """Vertices of {alpha on the simplex: alpha_i >= alpha_j wherever losses_i < losses_j}  # (m, b)

    They are the averages of the best learners: all that are better than some, and any of those that tie next.
    """
    vertices = []
    for loss in np.unique(losses):
        better, tied = losses < loss, np.flatnonzero(losses == loss)
        # Where none is better, an average of some that tie is an average of vertices, and not one itself.
        sizes = range(1, len(tied) + 1 if better.any() else 2)
        for some in chain.from_iterable(combinations(tied, size) for size in sizes):
            vertex = better.astype(np.float64)
            vertex[list(some)] = 1
            vertices.append(vertex / vertex.sum())
    return np.array(vertices)


def safest_average(F: np.ndarray, f0: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """argmin |f0 - F alpha|^2 over the hull of `vertices` (m, b), for predictions F (u, b) and f0 (u,)  # (b,)

    With squared loss the worst truth for f is the one that gives its projection, and f is the projection itself.
    Solved exactly: with C the vertices' predictions less f0, non-negative least squares over x = t beta minimises
    t^2 |C beta|^2 + (t - 1)^2, hence |C beta|^2 for beta = x / sum x.
    """
    C = F @ vertices.T - f0[:, None]
    R = qr(C, mode="r")[0][: C.shape[1]]
    size = np.abs(R).max()
    system = np.vstack([R / size if size > 0 else R, np.ones(len(vertices))])
    x = nnls(system, np.append(np.zeros(len(system) - 1), 1.0))[0]
    return x / x.sum() @ vertices


def safest_vote(F: np.ndarray, f0: np.ndarray, vertices: np.ndarray) -> np.ndarray:
    """argmin sum_j max_c S_jc - S_j,f0_j with S = sum_i alpha_i F_i, alpha in the hull of `vertices` (m, b)  # (b,)

    F (b, u, k) are class probabilities and f0 (u,) the baseline's classes. This is the dual of the linear program
    max_f min_alpha of the mistakes that f saves, and its optimal f is the vote argmax_c S_jc.
    """
    S = np.tensordot(vertices, F, axes=1)  # (m, u, k)
    gain = S - np.take_along_axis(S, f0[None, :, None], axis=2)
    # A class that is highest at every vertex is so in between: such a row needs no maximum.
    first = gain.argmax(axis=2)
    agreed = (first == first[0]).all(axis=0)
    linear = gain[:, agreed].max(axis=2).sum(axis=1)
    disputed = gain[:, ~agreed]
    u = disputed.shape[1]
    # Of the others, only classes that are not below another one at every vertex can be the highest.
    j, c = np.nonzero(~_below_another(disputed))
    # Variables beta (m) and t (u): minimise linear . beta + sum t with t_j >= sum_v beta_v disputed_vjc.
    epigraph = coo_array((-np.ones(len(j)), (np.arange(len(j)), j)), shape=(len(j), u))
    solved = linprog(
        np.append(linear, np.ones(u)),
        A_ub=hstack([coo_array(disputed[:, j, c].T), epigraph], format="csr") if u else None,
        b_ub=np.zeros(len(j)) if u else None,
        A_eq=np.append(np.ones(len(vertices)), np.zeros(u))[None],
        b_eq=[1.0],
        bounds=[(0, None)] * len(vertices) + [(None, None)] * u,
        method="highs",
    )
    beta = np.clip(solved.x[: len(vertices)], 0, None)
    return beta / beta.sum() @ vertices


def _below_another(S: np.ndarray) -> np.ndarray:
    """Whether class c of row j has, at every vertex, less than one and the same other class  # (u, k)"""
    below = np.zeros(S.shape[1:], dtype=bool)
    for other in range(S.shape[2]):
        below |= (S - S[:, :, [other]] < 0).all(axis=0)
    return below


class SafeWClassifier(MethodClassifier):
    """A safe vote of (name, classifier) pairs, each with fit(X, y, trusted=...) and predict_proba.

    By default these are the baseline, Reed and S-model, or where rows have no label, the baseline, the Pi-model and
    Mean Teacher; all other settings are handed to these.
    """

    def __init__(
        self,
        estimators: Learners | None = None,
        *,
        n_hidden: int = 256,
        recipe: Recipe | None = None,
        selection_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.n_hidden = n_hidden
        self.recipe = recipe
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        shared: dict[str, Any] = {
            "n_hidden": self.n_hidden,
            "recipe": self.recipe,
            "selection_fraction": self.selection_fraction,
            "random_state": seed_of(self.random_state, random),
        }
        kinds = (Reed, SModel) if weak.labels.labelled.all() else (PiModel, MeanTeacher)
        usual: Learners = [(kind.__name__.lower(), kind(**shared)) for kind in (BaselineClassifier, *kinds)]
        self.estimators_ = [_trained(each, weak) for _, each in self.estimators or usual]
        baseline = _first(self.estimators_, BaselineClassifier) or _trained(BaselineClassifier(**shared), weak)
        # Learners with random states of their own hold out other rows: only what none has seen can rank them.
        held = np.logical_and.reduce([getattr(each, "held_out_", weak.held) for each in self.estimators_])
        self.held_out_ = held
        votes = np.array([each.predict_proba(weak.rows) for each in self.estimators_])
        wrong = votes[:, held].argmax(axis=2) != weak.labels.numbers[held]
        vertices = ordered_weights(wrong.sum(axis=1))
        f0 = baseline.predict_proba(weak.rows[~weak.trusted]).argmax(axis=1)
        self.weights_ = safest_vote(votes[:, ~weak.trusted], f0, vertices)
        self.fitted_ = True

    def predict_proba(self, X: Any) -> np.ndarray:
        """The weighted average of the learners' class probabilities, in the order of `classes_`."""
        rows = self._rows(X)
        votes = [each.predict_proba(rows) for each in self.estimators_]
        return np.tensordot(self.weights_, np.array(votes), axes=1)


class SafeWRegressor(RegressorMixin, MethodRegressor):
    """A safe average of (name, regressor) pairs, each with fit(X, y, trusted=...).

    By default these are the baseline, Huber's loss and support vector regression, or where rows have no label, the
    baseline, self-trained least squares and the trusted rows alone.
    """

    def __init__(
        self, estimators: Learners | None = None, *, selection_fraction: float = 0.5, random_state: Any = None
    ) -> None:
        self.estimators = estimators
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def _fit(self, weak: WeakData, random: np.random.RandomState) -> None:
        shared: dict[str, Any] = {
            "selection_fraction": self.selection_fraction,
            "random_state": seed_of(self.random_state, random),
        }
        kinds = (Huber, SVR) if weak.labels.labelled.all() else (SelfLS, TrustedOnlyRegressor)
        usual: Learners = [(kind.__name__.lower(), kind(**shared)) for kind in (BaselineRegressor, *kinds)]
        learners = [each for _, each in self.estimators or usual]
        losses = np.zeros(len(learners))
        guide = weak.trusted & ~weak.held
        if weak.held.any() and guide.sum() >= 2:
            # Linear learners train on every row they get: rank them by twins that have not seen the held-out rows.
            twins = [_trained(each, weak, ~weak.held) for each in learners]
            y = weak.labels.given[weak.held]
            losses = np.array([np.mean((each.predict(weak.rows[weak.held]) - y) ** 2) for each in twins])
        self.estimators_ = [_trained(each, weak) for each in learners]
        baseline = _first(self.estimators_, BaselineRegressor) or _trained(BaselineRegressor(**shared), weak)
        rows = weak.rows[~weak.trusted]
        F = np.column_stack([each.predict(rows) for each in self.estimators_])
        self.weights_ = safest_average(F, baseline.predict(rows), ordered_weights(losses))
        self.fitted_ = True

    def predict(self, X: Any) -> np.ndarray:
        """The weighted average of the learners' predictions."""
        rows = self._rows(X)
        return np.column_stack([each.predict(rows) for each in self.estimators_]) @ self.weights_


def _trained(learner: Any, weak: WeakData, kept: np.ndarray | None = None) -> Any:
    """A copy of the learner, fitted to the rows as they were given, or to some of them."""
    rows = slice(None) if kept is None else kept
    return clone(learner).fit(weak.rows[rows], weak.labels.given[rows], trusted=weak.trusted[rows])


def _first(learners: list[Any], kind: type) -> Any:
    return next((each for each in learners if type(each) is kind), None)
