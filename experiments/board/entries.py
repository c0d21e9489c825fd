"""Who plays: usual models, peers, Safegain, and the bound."""

from experiments.entry import Entry
from experiments.methods.usual import FAMILIES, ON

SEEDS = range(10)
# Hindsight picks the best usual model on the first, and is judged on the others.
PICKED, JUDGED = range(5), range(5, 10)
PAIRED = JUDGED[:3]  # of peers: their tests are over data sets, and more seeds would take the board beyond a night
USUAL = tuple(
    Entry(f"{name}, {words}", "usual", {"family": family}, on)
    for on, words in ON.items()
    for family, name in FAMILIES.items()
)
CROSS_VALIDATED = tuple(
    Entry(f"{entry.name}, cross-validated", "cross_validated", entry.options, entry.part) for entry in USUAL
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
