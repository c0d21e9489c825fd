"""What a user asks of the files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, get_args

from safegain.data.kinds import KINDS, Kind
from safegain.tables.task import Task


@dataclass(frozen=True)
class Source:
    """Files and columns by name.

    Parameters
    ----------
    train : str
        The table.
    label : str
        Its column of labels.
    trusted : str or None
        A file with labels that can be trusted, or the column of train that is true where they can. A file that
        exists is meant before a column of the same name.
    id, group : str or None
        Columns that name a row, and that say to which group it belongs.
    task : "classes", "numbers" or None
        None: what the labels look like.
    kinds : mapping
        Columns whose kind is not what they look like.
    drop : tuple of str
        Columns that are not used.
    checked : tuple of str
        Files of a review: `_row`, the number of a row of train, and its right label.
    """

    train: str
    label: str
    trusted: str | None = None
    id: str | None = None
    group: str | None = None
    task: Task | None = None
    kinds: dict[str, Kind] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.task not in (None, *get_args(Task)):
            raise ValueError(f"task must be classes or numbers, not {self.task!r}")
        for name, kind in self.kinds.items():
            if kind not in KINDS:
                raise ValueError(f"kinds: {name!r} must be one of {', '.join(KINDS)}, not {kind!r}")
        roles = {"label": self.label, "id": self.id, "group": self.group}
        for role, column in roles.items():
            if column is not None and column in (*self.drop, *self.kinds):
                raise ValueError(f"{role}: the column {column!r} also has a kind or is dropped; remove one")
        if both := {*self.drop} & {*self.kinds}:
            raise ValueError(f"drop: {sorted(both)[0]!r} is also given a kind; remove one")
        if self.label in (self.id, self.group):
            raise ValueError(f"label: the column {self.label!r} is also the id or the group; choose another")

    @property
    def files(self) -> list[Path]:
        """All that is read, as far as it is there."""
        named = (self.train, *((self.trusted,) if self.trusted else ()), *self.checked)
        return [Path(name) for name in named if Path(name).exists()]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Of what `as_dict` gave, also after a round through JSON."""
        return cls(**{**facts, **{name: tuple(facts.get(name, ())) for name in ("checked", "drop")}})
