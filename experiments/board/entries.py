"""Who plays: usual models, peers, Safegain, and the bound. An entry's figures are a part of the metrics of its runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from experiments.board.cells import BoardCell
from experiments.methods.usual import FAMILIES, ON
from experiments.plan import Run, Value

SEEDS = range(10)
PICKED, JUDGED = (
    range(5),
    range(5, 10),
)  # hindsight picks the best usual model on the first, and is judged on the others


@dataclass(frozen=True)
class Entry:
    name: str
    method: str  # a module of experiments.methods
    options: Mapping[str, Value] = field(default_factory=dict)
    part: str = ""  # before the names of its metrics

    def __hash__(self) -> int:
        return hash(self.name)

    def run(self, cell: BoardCell, seed: int, quick: bool = False) -> Run:
        return Run(cell.data, cell.setting, self.method, seed, self.options, quick)

    def metric(self, word: str) -> str:
        return f"{self.part}_{word}" if self.part else word


USUAL = tuple(
    Entry(f"{name}, {words}", "usual", {"family": family}, on)
    for on, words in ON.items()
    for family, name in FAMILIES.items()
)
CLEANLAB = tuple(
    Entry(f"cleanlab, {FAMILIES[family].lower()}", "cleanlab_around", {"family": family})
    for family in ("forest", "boosting", "logistic")
)
NETWORKS = (
    Entry("Gold loss correction", "gold_loss_correction"),
    Entry("Meta-Weight-Net", "meta_weight_net"),
    Entry("S-Model", "s_model"),
)
PEERS = (*USUAL, *CLEANLAB, *NETWORKS)
PLAIN = Entry("Safegain, trusted=", "safegain_default", {"form": "trusted"})
RIGHT = Entry("Safegain, right=", "safegain_default", {"form": "right"})
OURS = (PLAIN, RIGHT)
BOUNDS = tuple(Entry(f"{name}, all labels true", "all_true", {"family": family}) for family, name in FAMILIES.items())
