"""Who plays on the board for numbers: usual models, peers, Safegain, and the bound."""

from experiments.entry import Entry
from experiments.methods.usual import ON
from experiments.methods.usual_numbers import FAMILIES

USUAL = tuple(
    Entry(f"{name}, {words}", "usual_numbers", {"family": family}, on)
    for on, words in ON.items()
    for family, name in FAMILIES.items()
)
CROSS_VALIDATED = tuple(
    Entry(f"{entry.name}, cross-validated", "cross_validated_numbers", entry.options, entry.part) for entry in USUAL
)
CLEANLAB = tuple(
    Entry(f"cleanlab.regression, {FAMILIES[family].lower()}", "cleanlab_numbers", {"family": family})
    for family in ("boosting", "forest")
)
OTHERS = (Entry("RANSAC", "ransac"),)
PEERS = (*USUAL, *CLEANLAB, *OTHERS)
OURS = Entry("Safegain", "safegain_numbers")
BOUNDS = tuple(
    Entry(f"{name}, all labels true", "all_true_numbers", {"family": family}) for family, name in FAMILIES.items()
)
