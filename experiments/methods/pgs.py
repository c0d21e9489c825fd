"""PGS: the search for weights and labels, then the recipe that all methods share, trained on what was found."""

from typing import Any

from experiments.methods import network
from experiments.search import free_network

NAME = "PGS"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain.baselines import PGSRefit

    # PGSRefit's own search is the short one that figure-iterations speaks for; a rehearsal's is shorter still.
    search = free_network(n_steps=5, rate=1.0, n_outer=2) if quick else None
    return PGSRefit(search, random_state=seed, **{**network(quick), **options})
