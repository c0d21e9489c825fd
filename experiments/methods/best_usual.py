"""The best of the usual models, each on the labels as they are and on the trusted rows alone, picked with hindsight.

The network's two are Baseline and the trusted rows only, and are measured there.
"""

from experiments.entry import Entry
from experiments.methods.usual import FAMILIES, MAKERS, ON

NAME = "Best usual model"
AMONG = (
    *(
        Entry(f"{FAMILIES[family]}, {words}", "usual", {"family": family}, on)
        for on, words in ON.items()
        for family in MAKERS
    ),
    Entry(f"{FAMILIES['network']}, {ON['raw']}", "baseline"),
    Entry(f"{FAMILIES['network']}, {ON['trusted']}", "trusted_only"),
)
