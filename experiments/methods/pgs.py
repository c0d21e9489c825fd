"""PGS: the search for weights and labels, then the recipe that all methods share, trained on what was found."""

from typing import Any

from experiments.methods import network

NAME = "PGS"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain import PGSClassifier
    from safegain.baselines import PGSRefit

    # PGSRefit's own search is the short one that figure-iterations speaks for; a rehearsal's is shorter still.
    search = (
        PGSClassifier("mlp", search_space="free", reference="raw", n_inner=5, lr_inner=1.0, n_outer=2)
        if quick
        else None
    )
    return PGSRefit(search, random_state=seed, **{**network(quick), **options})
