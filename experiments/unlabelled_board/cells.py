"""What the board of few labels is played on: a data set, and how many of its rows have a label."""

from dataclasses import dataclass

from experiments.board.cells import SHAPES
from experiments.plan import Value
from safegain.datasets import DEVELOPMENT, FINAL

PER_CLASS, SHARE = (5, 10, 30), 0.4
ENOUGH = 30  # labels in all, from which on a loss counts as unsafe


@dataclass(frozen=True)
class UnlabelledCell:
    set: str
    labelled: float  # labels a class, on average; below 1 their share of the rows

    @property
    def data(self) -> str:
        return "unlabelled_final" if self.set in FINAL else "unlabelled_development"

    @property
    def setting(self) -> dict[str, Value]:
        return {"set": self.set, "labelled": self.labelled}

    @property
    def few(self) -> bool:
        return self.labelled >= 1

    @property
    def n_labels(self) -> float:
        """In all; many where they are a share."""
        return self.labelled * SHAPES[self.set][1] if self.few else float("inf")

    @property
    def label(self) -> str:
        return f"{self.labelled:g} labels a class" if self.few else f"{self.labelled:.0%} labelled"

    @property
    def name(self) -> str:
        return f"{self.set}, {self.label}, others unlabelled"

    @property
    def cost(self) -> int:
        rows, classes = SHAPES[self.set]
        return (self.set in ("mnist", "cifar10n")) * 10**9 + classes * min(rows, 10_000)


def _cells(names: tuple[str, ...]) -> tuple[UnlabelledCell, ...]:
    return tuple(UnlabelledCell(name, each) for name in names for each in (*PER_CLASS, SHARE))


DEVELOPMENT_CELLS, FINAL_CELLS = _cells(DEVELOPMENT), _cells(FINAL)
