"""Evidence that is quick to find, for tests that are about something else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from safegain.evidence.class_heads import FORESTS
from safegain.evidence.number_heads import FoldedNumbers, ForestNumbers, NumberHead
from safegain.learners.forest import Forest
from safegain.learners.linear import Linear

ROOT = Path(__file__).parents[1]
COMMAND = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.quick import main; main()"  # for python -c


@contextmanager
def quick_evidence() -> Iterator[None]:
    """Few trees and penalties, one forest, width, round and kind of channel; there is a fixture of that name too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.evidence.class_heads.MOST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.LEAST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.PENALTIES", (0.3, 3.0))
        patch.setattr("safegain.evidence.pooled.FORESTS", FORESTS[:1])
        patch.setattr("safegain.evidence.pooled._best_width", lambda *_: 0.5)
        patch.setattr("safegain.evidence.pooled.ROUNDS", 1)
        patch.setattr("safegain.evidence.pooled.heard_by_trusted", lambda *_: (0.0, True))
        patch.setattr("safegain.evidence.number_heads.MOST_TREES", 10)
        patch.setattr("safegain.evidence.number_heads.LEAST_TREES", 10)
        patch.setattr("safegain.evidence.number_evidence.number_heads", _few_heads)
        patch.setattr("safegain.evidence.number_evidence.ROUNDS", 1)
        patch.setattr("safegain.evidence.errors.FIRST_STEPS", 5)
        patch.setattr("safegain.evidence.errors.STEPS", 5)
        patch.setattr("safegain.evidence.errors.UNITS", (10.0,))
        yield


def _few_heads(X: Any, random: np.random.RandomState, graphs: Any = None) -> list[NumberHead]:
    linear = FoldedNumbers(X, Linear(alpha=1e-3), random=random, n_folds=2)
    return [linear] if scipy.sparse.issparse(X) else [linear, ForestNumbers(X, Forest(min_samples_leaf=3), random)]


def main() -> None:
    """`safegain`, with quick evidence."""
    from safegain.cli import app

    with quick_evidence():
        app(prog_name="safegain")
