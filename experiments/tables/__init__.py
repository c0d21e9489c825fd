"""One file for each table: NAME, TITLE, `runs(quick)` and `render(results, quick)`, which gives a Table."""

from collections.abc import Mapping, Sequence

from experiments.grid import Column
from experiments.plan import Value

_NOISE = (
    "baseline",
    "best_baseline",
    "trusted_only",
    "reed_soft",
    "reed_hard",
    "s_model",
    "safew",
    "gold_loss_correction",
    "learning_to_reweight",
    "meta_weight_net",
    "cleanlab",
    "pgs",
    "pgs_search",
)
NOISE_METHODS = (*_NOISE, "true_labels")
# Of the two tables that the paper has too, where the default has bars.
PAPER_NOISE_METHODS = (*_NOISE, "safegain_default", "best_usual", "true_labels")
SSL_METHODS = (
    "baseline",
    "best_baseline",
    "trusted_only",
    "pi_model",
    "mean_teacher",
    "pseudo_label",
    "safew",
    "pgs",
    "pgs_search",
    "safegain_default",
    "safegain_labelled",
    "true_labels",
)
UNREHEARSED = ("safegain_default", "safegain_numbers", "safegain_labelled")  # slow; boards rehearse
SETS = ("bodyfat", "mpg", "abalone", "cpusmall", "mg", "space_ga", "cadata")  # a rehearsal has the first two


def both_trusted(data: str, setting: Mapping[str, Value], paper: Mapping[str, Mapping[str, float]]) -> Sequence[Column]:
    """A column with an unbiased and one with a biased trusted set."""
    return [
        Column(f"{kind} trusted set", data, {**setting, "trusted": kind}, paper[kind])
        for kind in ("unbiased", "biased")
    ]
