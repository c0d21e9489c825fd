"""Who plays on the board for numbers: usual models, peers, and Safegain."""

from experiments.entry import Entry
from experiments.methods.usual import ON
from experiments.methods.usual_numbers import FAMILIES

USUAL = tuple(
    Entry(f"{name}, {words}", "usual_numbers", {"family": family}, on)
    for on, words in ON.items()
    for family, name in FAMILIES.items()
)
RAW = tuple(entry for entry in USUAL if entry.part == "raw")
BOOSTING = next(entry for entry in RAW if entry.options["family"] == "boosting")
CROSS_VALIDATED = tuple(
    Entry(f"{entry.name}, cross-validated", "cross_validated_numbers", entry.options, entry.part) for entry in USUAL
)
CLEANLAB = tuple(
    Entry(f"cleanlab.regression, {FAMILIES[family].lower()}", "cleanlab_numbers", {"family": family})
    for family in ("boosting", "forest")
)
OTHERS = (
    Entry("RANSAC", "ransac"),
    Entry("PGS of the paper, ridge regression", "paper_numbers", {"search": "free"}),
    Entry("Residual curve, ridge regression", "paper_numbers", {"search": "residuals"}),
)
PEERS = (*USUAL, *CLEANLAB, *OTHERS)
OURS = Entry("Safegain", "safegain_numbers")
ALONE = tuple(  # one learner, judged by what it would have been on raw + trusted labels
    Entry(f"Safegain, {model} alone", "safegain_numbers", {"model": model, "reference": "raw+trusted"})
    for model in ("linear", "boosting", "forest")
)
