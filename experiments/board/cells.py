"""What the board is played on: a cell is one data set with one kind of noise and one number of trusted rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.plan import Value
from experiments.tables import SETS


@dataclass(frozen=True)
class BoardCell:
    set: str  # as the page calls it
    label: str  # which of the set's cells
    data: str  # a module of experiments.data
    setting: Mapping[str, Value]

    @property
    def name(self) -> str:
        return f"{self.set}, {self.label}"


FEW = 100  # trusted rows, where the first cell of a set is played a second time
NOISES: dict[str, dict[str, Value]] = {
    "uniform": {"task": "noise", "noise": "uniform", "trusted": "unbiased"},
    "pair": {"task": "noise", "noise": "pair", "trusted": "unbiased"},
    "instance-dependent": {"task": "noise", "noise": "instance", "trusted": "unbiased"},
}
ERRORS: dict[str, dict[str, Value]] = {
    "Gaussian, sd 0.5": {"noise": "gaussian", "sigma": 0.5},
    "Gaussian, sd 1": {"noise": "gaussian", "sigma": 1.0},
    "heavy-tailed": {"noise": "heavy", "sigma": 0.5},
}
Sizes = Mapping[str, Value]
Rates = Mapping[str, float]


def _flipped(name: str, data: str, sizes: Sizes, rates: Rates, n_trusted: int) -> list[BoardCell]:
    return [
        BoardCell(
            name,
            f"{noise} {rate:.0%}, {n_trusted:,} trusted",
            data,
            {**NOISES[noise], **sizes, "rate": rate, "n_trusted": n_trusted},
        )
        for noise, rate in rates.items()
    ]


def _human(labels: str, n_trusted: int) -> BoardCell:
    setting: dict[str, Value] = {"labels": labels, "trusted": "unbiased", "n_trusted": n_trusted}
    return BoardCell("CIFAR-10N", f"{labels}, {n_trusted:,} trusted", "cifar10n", setting)


_MNIST: tuple[str, str, Sizes, Rates] = (
    "MNIST",
    "mnist",
    {"n_test": 3000},
    {"uniform": 0.5, "pair": 0.4, "instance-dependent": 0.4},
)
_LETTER: tuple[str, str, Sizes, Rates] = (
    "letter",
    "tables",
    {"set": "letter", "n_weak": 10_000, "n_test": 4000},
    {"uniform": 0.5, "instance-dependent": 0.4},
)
_SPAMBASE: tuple[str, str, Sizes, Rates] = (
    "spambase",
    "tables",
    {"set": "spambase", "n_weak": 3000, "n_test": 1100},
    {"uniform": 0.3, "instance-dependent": 0.3},
)
_PENDIGITS: Sizes = {"set": "pendigits", "n_weak": 7000, "n_test": 2900}

CELLS: tuple[BoardCell, ...] = (
    *_flipped(*_MNIST, n_trusted=1000),
    _flipped(*_MNIST, n_trusted=FEW)[0],
    *_flipped("CIFAR-10", "cifar10", {"n_test": 3000}, {"uniform": 0.5, "pair": 0.4}, n_trusted=1000),
    _human("random1", 1000),
    _human("worse", 1000),
    _human("worse", FEW),
    *_flipped(*_LETTER, n_trusted=1000),
    _flipped(*_LETTER, n_trusted=FEW)[0],
    *_flipped("pendigits", "tables", _PENDIGITS, {"uniform": 0.7, "pair": 0.4}, n_trusted=1000),
    *_flipped(*_SPAMBASE, n_trusted=460),
    _flipped(*_SPAMBASE, n_trusted=FEW)[0],
    *_flipped("digits", "digits", {"n_weak": 1167, "n_test": 450}, {"uniform": 0.5}, n_trusted=180),
    BoardCell("YouTube", "majority of votes, 171 trusted", "youtube", {"labels": "majority", "n_trusted": 171}),
)
REGRESSION_CELLS: tuple[BoardCell, ...] = tuple(
    BoardCell(name, errors, "regression", {"set": name, "task": "noise", **noise})
    for errors, noise in ERRORS.items()
    for name in (*SETS, "concrete", "kin8nm")
)
# One cell of each module that takes no time to load; `make reproduce QUICK=1` rehearses the images.
REHEARSAL = tuple({cell.data: cell for cell in CELLS if cell.data in ("tables", "digits", "youtube")}.values())
