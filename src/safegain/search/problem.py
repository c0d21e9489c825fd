"""What a search is asked: rows in their parts, a learner, and what the result must not be worse than."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from safegain.bilevel.safeness import Safeness
from safegain.data.checkpoint import Checkpoint
from safegain.data.parts import Parts
from safegain.learners.base import Learner

Watch = Callable[[str, int, int], None]  # what has begun, how many steps have ended, of how many


@dataclass(frozen=True)
class Problem:
    parts: Parts
    learner: Learner
    reference: str  # one of REFERENCES, or "best"
    safeness: Safeness | None
    random: np.random.RandomState
    checkpoint: Checkpoint | None = None
    watch: Watch | None = None
    began: float = field(default_factory=time.monotonic)  # the fit, of which this is a part
