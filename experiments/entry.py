"""Who is compared: a method with its options, or a part of what its runs measure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from experiments.plan import Run, Value


class Place(Protocol):
    """Where it is compared: a column of a table, or a cell of the board."""

    @property
    def data(self) -> str: ...

    @property
    def setting(self) -> Mapping[str, Value]: ...


@dataclass(frozen=True)
class Entry:
    name: str
    method: str  # a module of experiments.methods
    options: Mapping[str, Value] = field(default_factory=dict)
    part: str = ""  # before the names of its metrics

    def __hash__(self) -> int:
        return hash(self.name)

    def run(self, place: Place, seed: int, quick: bool = False) -> Run:
        return Run(place.data, place.setting, self.method, seed, self.options, quick)

    def metric(self, word: str) -> str:
        return f"{self.part}_{word}" if self.part else word
