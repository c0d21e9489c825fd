"""What the board for numbers is played on: a data set, errors of some kind and share, and a number of trusted rows."""

from dataclasses import dataclass

from experiments.plan import Value
from safegain.datasets import DEVELOPMENT_NUMBERS, FINAL_NUMBERS

FEW, MANY, VERY_FEW = 30, 300, 20  # trusted rows
LEAST_ROWS = 1000  # of a set that judges; smaller ones are shown

# Rows of each set: cells are planned without reading a file.
ROWS = {
    "abalone": 4177,
    "bodyfat": 252,
    "cpusmall": 8192,
    "mg": 1385,
    "mpg": 392,
    "space_ga": 3107,
    "cadata": 20_640,
    "kin8nm": 8192,
    "concrete": 1030,
    "diamonds": 15_000,
    "nox": 8088,
    "movies": 12_000,
    "wages": 4147,
}
NONE = ("none", None, None)
ERRORS = (  # kind, standard deviations, share of wrong labels
    *(("normal", 0.5, rate) for rate in (0.2, 0.5)),
    *(("normal", 1.0, rate) for rate in (0.05, 0.2, 0.5)),
    *(("heavy", None, rate) for rate in (0.05, 0.2, 0.5)),
    *(("one-sided", None, rate) for rate in (0.05, 0.2, 0.5)),
    *(("units", None, rate) for rate in (0.05, 0.2)),
    *(("swaps", None, rate) for rate in (0.05, 0.2, 0.5)),
    NONE,
)
TYPICAL = (("normal", 0.5, 0.5), ("normal", 1.0, 0.2), ("heavy", None, 0.2), ("units", None, 0.05), NONE)
WORDS = {"heavy": "heavy-tailed", "one-sided": "one-sided", "units": "units", "swaps": "swaps", "none": "no errors"}


@dataclass(frozen=True)
class NumberCell:
    set: str
    noise: str
    sigma: float | None
    rate: float | None  # None: no label is wrong
    n_trusted: int
    n_weak: int | None = None  # None: as many as other cells have

    @property
    def data(self) -> str:
        return "final_numbers" if self.set in FINAL_NUMBERS else "development_numbers"

    @property
    def setting(self) -> dict[str, Value]:
        named = {"rate": self.rate, "sigma": self.sigma, "n_weak": self.n_weak}
        given = {name: value for name, value in named.items() if value is not None}
        return {"set": self.set, "noise": self.noise, **given, "n_trusted": self.n_trusted}

    @property
    def label(self) -> str:
        noise = f"normal {self.sigma:g} sd" if self.noise == "normal" else WORDS[self.noise]
        rate = "" if self.rate is None else f" {self.rate:.0%}"
        weak = "" if self.n_weak is None else f", {self.n_weak:,} weak"
        return f"{noise}{rate}, {self.n_trusted} trusted{weak}"

    @property
    def name(self) -> str:
        return f"{self.set}, {self.label}"

    @property
    def judges(self) -> bool:
        return ROWS[self.set] >= LEAST_ROWS

    @property
    def cost(self) -> int:
        return min(ROWS[self.set], 4000)


def _cells(names: tuple[str, ...], errors: tuple, trusted: tuple[int, ...]) -> tuple[NumberCell, ...]:
    """Sets of few rows with few trusted ones only."""
    return tuple(
        NumberCell(name, *error, n)
        for name in names
        for error in errors
        for n in trusted
        if n < MANY or ROWS[name] >= LEAST_ROWS
    )


FINAL_CELLS = (*_cells(FINAL_NUMBERS, ERRORS, (MANY,)), *_cells(FINAL_NUMBERS, TYPICAL, (FEW,)))
DEVELOPMENT_CELLS = _cells(DEVELOPMENT_NUMBERS, TYPICAL, (FEW, MANY))
VERY_FEW_CELLS = _cells(DEVELOPMENT_NUMBERS, (("normal", 1.0, 0.2), NONE), (VERY_FEW,))
NAMED_CELLS = tuple(
    NumberCell(name, *errors, MANY, 7000)
    for name in ("cadata", "cpusmall", "kin8nm")
    for errors in (("normal", 0.5, 0.5), NONE)
)
