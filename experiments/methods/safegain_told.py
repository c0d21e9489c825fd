"""Safegain in a cell of the board, told one thing that it has to find out: which part is to blame for what it loses.

"labels": every label is right, so that nothing is left of evidence and channel. "matrix": how labels go wrong, as
counted in the weak rows. "choice": the best candidate by the test rows, of all that are tried, or the mixture.
No method could know any of it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from experiments.score import on_test_rows

NAME = "Safegain, told"
BOUND = True
ALL = 1000  # finalists


def measure(problem: Any, seed: int, *, quick: bool, told: str) -> dict[str, float]:
    return {"labels": _labels, "matrix": _matrix, "choice": _choice}[told](problem, seed)


def _labels(problem: Any, seed: int) -> dict[str, float]:
    return on_test_rows(_fitted(problem.X, problem.true, problem.trusted, seed), problem)


def _matrix(problem: Any, seed: int) -> dict[str, float]:
    with _told_matrix(counted_matrix(problem.true, problem.y, ~problem.trusted)):
        return on_test_rows(_fitted(problem.X, problem.y, problem.trusted, seed), problem)


def _choice(problem: Any, seed: int) -> dict[str, float]:
    with _all_candidates() as trained:
        model = _fitted(problem.X, problem.y, problem.trusted, seed)
    found = [on_test_rows(each, problem) for each in (model, *trained)]
    return max(found, key=lambda scores: scores["accuracy"])


def _fitted(X: np.ndarray, y: np.ndarray, trusted: np.ndarray, seed: int) -> Any:
    from safegain import PGSClassifier

    return PGSClassifier(random_state=seed).fit(X, y, trusted=trusted)


def counted_matrix(true: np.ndarray, given: np.ndarray, weak: np.ndarray) -> np.ndarray:
    """P(label | class) in the weak rows, with one made-up row of each class  # (k, k)"""
    k = int(max(true.max(), given.max())) + 1
    counts = np.full((k, k), 1 / k)
    np.add.at(counts, (true[weak], given[weak]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


@contextmanager
def _told_matrix(matrix: np.ndarray) -> Iterator[None]:
    """The evidence's channel has this matrix, and keeps it."""
    import torch

    from safegain.evidence import pooled, pooling

    T, fit = torch.from_numpy(matrix).float(), pooling.fit_through_channel

    def with_matrix(*arguments: Any, **settings: Any) -> Any:
        return fit(*arguments, **{**settings, "fixed": True})

    with ExitStack() as stack:
        stack.enter_context(patch.object(pooled, "most_likely_transition", lambda *_: T))
        for module in (pooled, pooling):
            stack.enter_context(patch.object(module, "fit_through_channel", with_matrix))
        yield


@contextmanager
def _all_candidates() -> Iterator[list[Any]]:
    """All candidates go on and are trained on all rows; yields the list of these models, which a fit fills."""
    from safegain.search import contest_road

    trained: list[Any] = []
    last = contest_road._Road._last

    def train_all(self: Any, numbers: set[int], Q: Any) -> dict[int, Any]:
        models = last(self, set(range(len(self.entries))), Q)
        trained.extend(models.values())
        return models

    with (
        patch.object(contest_road, "FINALISTS", ALL),
        patch.object(contest_road, "REFERENCES_LEFT", ALL),
        patch.object(contest_road._Road, "_last", train_all),
    ):
        yield trained
