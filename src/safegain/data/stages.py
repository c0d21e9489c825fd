"""A run as a row of stages, each kept when it has ended: a run that goes on does none of them again.

The states of the generators are kept with every stage, so that what comes after it draws what it would have drawn.
What is not in a stage is done again, and must follow from the stages and the generators alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import torch

from safegain.data.checkpoint import Checkpoint, Kept, random_state_as_json

Watch = Callable[[str, int, int], None]  # what has begun, how many stages have ended, of how many


@dataclass
class Stages:
    total: int
    random: np.random.RandomState
    generator: torch.Generator
    checkpoint: Checkpoint | None = None
    watch: Watch | None = None
    n_ended: int = field(init=False, default=0)
    lock: Lock = field(init=False, default_factory=Lock)  # stages may run side by side

    def begin(self, name: str) -> None:
        """Say that a stage begins."""
        with self.lock:
            if self.watch is not None:
                self.watch(name, self.n_ended, self.total)
            self.n_ended += 1

    def kept(self, name: str) -> Kept | None:
        """Begin a stage, and hand back what a killed run made of it; `name` becomes part of a file's name."""
        self.begin(name)
        if self.checkpoint is None or (kept := self.checkpoint.kept(name)) is None:
            return None
        self.random.set_state(kept.facts.pop("random_state"))
        self.generator.set_state(kept.tensors.pop("generator"))
        return kept

    def keep(self, name: str, stage: Kept) -> Kept:
        """A stage has ended."""
        if self.checkpoint is not None:
            tensors = {**stage.tensors, "generator": self.generator.get_state()}
            facts = {**stage.facts, "random_state": random_state_as_json(self.random)}
            self.checkpoint.keep(name, Kept(tensors, facts))
        return stage
