"""What is to be run: a run is one method on one data set in one setting with one seed.

A run is a value. Two artefacts that need the same run name the same value, and it is done once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

Value = str | int | float | bool

# The words of a setting, in the order in which they are read out.
SETTINGS = ("set", "task", "noise", "labels", "rate", "sigma", "labelled", "trusted", "n_weak", "n_trusted", "n_test")


@dataclass(frozen=True)
class Run:
    data: str  # a module of experiments.data
    setting: Mapping[str, Value]  # what that module's `problem` is asked for
    method: str  # a module of experiments.methods
    seed: int
    options: Mapping[str, Value] = field(default_factory=dict)  # constructor arguments other than the method's own
    quick: bool = False  # few rows and few steps: a rehearsal, which never stands for the whole run

    def __post_init__(self) -> None:
        unknown = set(self.setting) - set(SETTINGS)
        if unknown:
            raise ValueError(f"setting: {sorted(unknown)[0]!r} is not one of {', '.join(SETTINGS)}")
        object.__setattr__(self, "setting", {word: self.setting[word] for word in SETTINGS if word in self.setting})
        object.__setattr__(self, "options", dict(sorted(self.options.items())))

    def __hash__(self) -> int:
        setting, options = tuple(self.setting.items()), tuple(self.options.items())
        return hash((self.data, setting, self.method, self.seed, options, self.quick))

    def __str__(self) -> str:
        words = [self.data, *(f"{name} {value}" for name, value in {**self.setting, **self.options}.items())]
        return f"{self.method} on {', '.join(words)}, seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "setting": dict(self.setting),
            "method": self.method,
            "seed": self.seed,
            "options": dict(self.options),
            "quick": self.quick,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        return cls(**stored)
