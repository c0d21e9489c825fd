"""A run as a row of stages, each kept when it has ended: a run that goes on does none of them again.

The states of the generators are kept with every stage, so that what comes after it draws what it would have drawn.
What is not in a stage is done again, and must follow from the stages and the generators alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.data.checkpoint import Checkpoint, Kept, Tensors, random_state_as_json

Watch = Callable[[str, int, int], None]  # what has begun, how many stages have ended, of how many


@dataclass
class Stages:
    total: int
    random: np.random.RandomState
    generator: torch.Generator
    checkpoint: Checkpoint | None = None
    watch: Watch | None = None
    n_ended: int = field(init=False, default=0)

    def run(self, name: str, compute: Callable[[], Kept]) -> Kept:
        """What `compute` hands back, now or when a killed run did it; `name` becomes part of a file's name."""
        self._begin(name)
        if self.checkpoint is None:
            return compute()
        if (kept := self.checkpoint.kept(name)) is None:
            found = compute()
            tensors = {**found.tensors, "generator": self.generator.get_state()}
            self.checkpoint.keep(
                name, Kept(tensors, {**found.facts, "random_state": random_state_as_json(self.random)})
            )
            return found
        self.random.set_state(kept.facts.pop("random_state"))
        self.generator.set_state(kept.tensors.pop("generator"))
        return kept

    def tensors(self, name: str, compute: Callable[[], Tensors]) -> Tensors:
        """`run` where there is nothing but tensors."""
        return self.run(name, lambda: Kept(compute())).tensors

    def tensor(self, name: str, compute: Callable[[], Tensor]) -> Tensor:
        return self.tensors(name, lambda: {"only": compute()})["only"]

    def again(self, name: str, compute: Callable[[], Any]) -> Any:
        """A stage that no file can hold; what it draws must come from generators of its own."""
        self._begin(name)
        return compute()

    def _begin(self, name: str) -> None:
        if self.watch is not None:
            self.watch(name, self.n_ended, self.total)
        self.n_ended += 1
