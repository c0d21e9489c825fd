"""Who plays on the board of few labels."""

from experiments.entry import Entry
from experiments.methods.usual import FAMILIES

ALONE = tuple(
    Entry(f"{name}, labelled rows", "scarce_usual", {"family": family})
    for family, name in FAMILIES.items()
    if family != "network"
)
GRAPHS = tuple(
    Entry(f"Label{kind.capitalize()}, {words}", "label_graph", {"kind": kind, "kernel": kernel})
    for kind in ("spreading", "propagation")
    for kernel, words in (("knn", "neighbours"), ("rbf", "rbf"))
)
SELF_TRAINING = tuple(
    Entry(f"Self-training, {FAMILIES[family].lower()}", "scarce_usual", {"family": family, "self_training": True})
    for family in ("svc", "logistic", "forest")
)
PAPER = Entry("PGS of the paper", "scarce_peer", {"peer": "pgs"})
NETWORKS = (
    Entry("Π-Model", "scarce_peer", {"peer": "pi_model"}),
    Entry("Mean Teacher", "scarce_peer", {"peer": "mean_teacher"}),
    Entry("Pseudo-Label", "scarce_peer", {"peer": "pseudo_label"}),
    Entry("SafeW", "scarce_peer", {"peer": "safew"}),
    PAPER,
)
PEERS = (*ALONE, *GRAPHS, *SELF_TRAINING, *NETWORKS)
SLOW = tuple(entry for entry in GRAPHS if entry.options["kernel"] == "rbf")  # minutes where others take seconds
OURS = Entry("Safegain", "scarce_safegain")
OURS_ALONE = Entry("Safegain, labelled rows", "scarce_safegain", {"alone": True})
# What a peer gains over its own model of the labelled rows: graphs are measured by neighbours, the nearest to them.
OWN_MODEL = {entry: next(e for e in ALONE if e.options["family"] == entry.options["family"]) for entry in SELF_TRAINING}
