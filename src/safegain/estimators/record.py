"""What a fit found, for whoever writes it down or shows it: one value, complete, and the same for all searches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from safegain.data.labels import Labels
from safegain.search.contest import SafenessReport
from safegain.search.outcome import Standing, Suggestions

if TYPE_CHECKING:
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.ledger import Ledger
    from safegain.search.worth import Worth


@dataclass(frozen=True)
class Record:
    """Arrays have an entry for each row of this rank."""

    labels: Labels
    trusted: np.ndarray  # (n,) bool
    sample: np.ndarray  # (n,) bool: trusted rows that are a random sample
    held_out: np.ndarray  # (n,) bool: trusted rows that only ranked candidates
    set_aside: np.ndarray  # (n,) bool: trusted rows that only the certificate saw
    weight: np.ndarray  # (n,)
    moved: np.ndarray  # (n, k) label distributions, or (n,) shifts
    corrected: np.ndarray  # (n,) labels
    model: Any  # that predicts
    references: Mapping[str, Any]
    reference: str  # the name of the one that the model was compared with
    safeness: SafenessReport
    certificate: "Certificate | None"
    digests: np.ndarray  # (n, 2) of the rows: data/digest.py
    ledger: "Ledger | None"  # of what was learned from and tested; None: nothing was tested
    comparison: pd.DataFrame
    history: list[dict[str, Any]]
    n_iter: int
    leaderboard: Sequence[Standing]  # how the candidates of a contest fared, best first
    clip: float | None  # the largest error that counts in a certificate of numbers
    worth: "Worth | None" = None  # of rows without a label; None: not measured
    suggestions: Suggestions | None = None  # of numbers; NaN for trusted rows and rows without a label

    @property
    def given(self) -> np.ndarray:
        """Labels as they were given, of checked rows too: class numbers with -1, or numbers with NaN  # (n,)"""
        labels = self.labels
        if labels.before is not None:
            return labels.before
        return labels.given if labels.codes is None else labels.codes

    @property
    def fell_back(self) -> bool:
        return self.model is self.references[self.reference]
