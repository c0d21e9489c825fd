"""PGS as a user gets it who sets nothing."""

from typing import Any

from experiments.methods import network

NAME = "PGS auto"


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain import Network, PGSClassifier

    return PGSClassifier(Network(**network(quick)), random_state=seed, **options)
