"""What is to be run: a run is one method on one data set in one setting with one seed.

A run is a value. Two artefacts that need the same run name the same value, and it is done once; its key is the file
that its result is kept in.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

Value = str | int | float | bool

# The words of a setting, in the order in which they stand in a key.
SETTINGS = ("set", "task", "noise", "labels", "rate", "sigma", "labelled", "trusted", "n_weak", "n_trusted", "n_test")


@dataclass(frozen=True)
class Run:
    data: str  # a module of experiments.data
    setting: Mapping[str, Value]  # what that module's `problem` is asked for
    method: str  # a module of experiments.methods
    seed: int
    options: Mapping[str, Value] = field(
        default_factory=dict
    )  # constructor arguments that differ from the method's own
    quick: bool = False  # few rows and few steps: a rehearsal, kept apart from results

    def __post_init__(self) -> None:
        unknown = set(self.setting) - set(SETTINGS)
        if unknown:
            raise ValueError(f"setting: {sorted(unknown)[0]!r} is not one of {', '.join(SETTINGS)}")
        object.__setattr__(self, "setting", {word: self.setting[word] for word in SETTINGS if word in self.setting})
        object.__setattr__(self, "options", dict(sorted(self.options.items())))

    @property
    def key(self) -> str:
        """Where the result is kept, relative to the store: mnist/noise-uniform-0.5-unbiased/pgs-0"""
        setting = "-".join(str(value) for value in self.setting.values()) or "plain"
        hashed = f"-{self._hash()}" if self.options else ""
        return f"{'quick/' if self.quick else ''}{self.data}/{setting}/{self.method}{hashed}-{self.seed}"

    def _hash(self) -> str:
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:8]

    def __hash__(self) -> int:
        return hash(self.key)

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


def unique(runs: Iterable[Run]) -> list[Run]:
    """Each run once, in order; two different runs with one key would overwrite each other, and are refused."""
    found: dict[str, Run] = {}
    for run in runs:
        other = found.setdefault(run.key, run)
        if other != run:
            raise ValueError(f"{run.key}: the key of two different runs, {other} and {run}")
    return list(found.values())
