"""The certificate of a fit: on the rows that were set aside, by claims that say no more of how many these are."""

import numpy as np

from safegain import Claims
from safegain.certificates.ledger import Ledger
from safegain.data.labels import classification_labels
from safegain.data.parts import Masks
from safegain.estimators.proof import certificate_of_fit
from safegain.search.contest import SafenessReport
from safegain.search.outcome import Choice, Comparison, Outcome


class Says:
    """Predicts its first column."""

    def __init__(self, column):
        self.column = column

    def predict(self, X):
        return X[:, self.column].astype(int)


def test_only_rows_set_aside_count():
    y = np.arange(60) % 2
    X = np.column_stack([y, 1 - y, np.arange(60)])  # the first model is always right, the second never
    aside = np.arange(60) >= 40
    X[~aside, :2] = X[~aside, 1::-1]  # elsewhere it is the other way round
    new, old = (Choice(Says(column), None, None) for column in (0, 1))
    outcome = Outcome(new, old, "raw", {}, SafenessReport(False, 1, (), ""), Comparison(None, {}))
    masks = Masks(np.arange(60) >= 20, np.zeros(60, bool), aside, tested=aside)
    labels, groups = classification_labels(y), np.where(y, "x", "z")
    found = certificate_of_fit(Claims(0.05, size=20), outcome, labels, X, masks, groups, Ledger())
    assert (found.certified, found.n, len(found.entries)) == (True, 20, 1)
    each = certificate_of_fit(Claims(0.05, per_group=True), outcome, labels, X, masks, groups, Ledger())
    assert [entry.n for entry in each.entries] == [20, 10, 10]
