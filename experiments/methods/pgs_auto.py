"""PGS as a user gets it who sets nothing."""

from typing import Any

NAME = "PGS auto"
REHEARSAL = {"n_inner": 5, "n_outer": 2}


def estimator(seed: int, *, quick: bool, **options: Any) -> Any:
    from safegain import PGSClassifier

    return PGSClassifier(random_state=seed, **{**(REHEARSAL if quick else {}), **options})
