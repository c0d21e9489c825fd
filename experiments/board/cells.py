"""What the board is played on: a cell is one data set with one kind of noise and one number of trusted rows."""

from dataclasses import dataclass

from experiments.plan import Value
from safegain.datasets import DEVELOPMENT, FINAL

FEW, MANY, VERY_FEW = 100, 1000, 40  # trusted rows
ROWS_FOR_MANY = 4000  # a set needs as many for MANY trusted rows

# Rows and classes of each set: cells are planned without reading a file.
SHAPES: dict[str, tuple[int, int]] = {
    "mnist": (70_000, 10),
    "cifar10n": (10_000, 10),
    "letter": (20_000, 26),
    "pendigits": (10_992, 10),
    "spambase": (4601, 2),
    "phoneme": (5404, 2),
    "banana": (5300, 2),
    "digits": (1797, 10),
    "ws_youtube": (1956, 2),
    "ws_trec": (5965, 6),
    "texture": (5500, 11),
    "segment": (2310, 7),
    "splice": (3190, 3),
    "chess": (3196, 2),
    "optdigits": (5620, 10),
    "marketing": (6876, 9),
    "ring": (7400, 2),
    "german": (1000, 2),
    "contraceptive": (1473, 3),
    "insured": (12_000, 2),
    "benefits": (4877, 2),
    "ws_sms": (5502, 2),
}
TWO_CLASSES = (("uniform", 0.3), ("instance", 0.3))
MORE_CLASSES = (("uniform", 0.5), ("uniform", 0.3), ("pair", 0.4), ("instance", 0.4))
OWN_NOISE = {"cifar10n": "human", "ws_youtube": "rules", "ws_trec": "rules", "ws_sms": "rules"}
WORDS = {"uniform": "uniform", "pair": "pairs", "instance": "instance-dependent", "human": "people", "rules": "rules"}


@dataclass(frozen=True)
class BoardCell:
    set: str
    noise: str
    rate: float | None  # None: the labels are wrong of themselves
    n_trusted: int
    n_weak: int | None = None  # None: as many as other cells have

    @property
    def final(self) -> bool:
        return self.set in FINAL

    @property
    def data(self) -> str:
        return "final" if self.final else "development"

    @property
    def setting(self) -> dict[str, Value]:
        rate = {} if self.rate is None else {"rate": self.rate}
        weak = {} if self.n_weak is None else {"n_weak": self.n_weak}
        return {"set": self.set, "noise": self.noise, **rate, **weak, "n_trusted": self.n_trusted}

    @property
    def label(self) -> str:
        noise = WORDS[self.noise] + ("" if self.rate is None else f" {self.rate:.0%}")
        weak = "" if self.n_weak is None else f", {self.n_weak:,} weak"
        return f"{noise}, {self.n_trusted:,} trusted{weak}"

    @property
    def name(self) -> str:
        return f"{self.set}, {self.label}"

    @property
    def cost(self) -> int:
        """Images, with hundreds of columns, last; else by classes, for each of which boosting grows trees, and rows."""
        rows, classes = SHAPES[self.set]
        return (self.set in ("mnist", "cifar10n")) * 10**9 + classes * min(rows, 10_000)


def noises(name: str) -> tuple[tuple[str, float | None], ...]:
    if name in OWN_NOISE:
        return ((OWN_NOISE[name], None),)
    return TWO_CLASSES if SHAPES[name][1] == 2 else MORE_CLASSES


def cells_of(name: str) -> list[BoardCell]:
    trusted = (FEW, MANY) if SHAPES[name][0] >= ROWS_FOR_MANY else (FEW,)
    return [BoardCell(name, noise, rate, n) for noise, rate in noises(name) for n in trusted]


def _development(name: str) -> list[BoardCell]:
    """Without the milder uniform noise, and MNIST, whose 784 columns are dear, with its first noise alone."""
    played = noises(name)
    kept = played[:1] if name == "mnist" else (played[0], *played[2:]) if played == MORE_CLASSES else played
    return [cell for cell in cells_of(name) if (cell.noise, cell.rate) in kept]


DEVELOPMENT_CELLS = tuple(cell for name in DEVELOPMENT for cell in _development(name))
FINAL_CELLS = tuple(cell for name in FINAL for cell in cells_of(name))
# The first noise of each development set, images aside, with hardly any trusted rows.
VERY_FEW_CELLS = tuple(
    BoardCell(name, *noises(name)[0], VERY_FEW) for name in DEVELOPMENT if name not in ("mnist", "cifar10n")
)
LETTER = BoardCell("letter", "uniform", 0.5, MANY, 10_000)
MNIST = BoardCell("mnist", "uniform", 0.5, MANY, 7000)
NAMED_CELLS = (LETTER, MNIST)  # with bars of their own
