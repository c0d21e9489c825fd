"""The certificate that is part of a fit: on trusted rows that nothing has seen before."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parts import Aside, Masks
from safegain.data.splits import Said, everywhere
from safegain.estimators.parameters import claims_of
from safegain.estimators.record import Record
from safegain.estimators.rows import rows_of
from safegain.search.outcome import Outcome

if TYPE_CHECKING:
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.claims import Claims
    from safegain.certificates.ledger import Ledger
    from safegain.certificates.stream import Disagreements


def rows_for_certificate(
    certificate: "float | Claims", digests: np.ndarray, said: Said, earlier: "Ledger | None"
) -> Callable[..., Aside]:
    """What draws the rows to set aside, once it is clear that there may be some."""
    from safegain.certificates.ledger import Ledger
    from safegain.certificates.setting_aside import drawn_aside

    if said.trusted is None:
        raise ValueError(
            "certificate: needs rows whose labels you trust, and none are named; noisy labels that stand in for them "
            "prove nothing. Give trusted or right, or leave certificate out"
        )
    return partial(drawn_aside, claims_of(certificate), digests, earlier or Ledger())


def ledger_of_fit(digests: np.ndarray, set_aside: np.ndarray, earlier: "Ledger | None") -> "Ledger":
    """A fit has learned from all rows that are not set aside."""
    from safegain.certificates.ledger import Ledger

    return (earlier or Ledger()).after(digests[~set_aside])


class Certified(ABC):
    """What an estimator says of itself on fresh rows."""

    record_: Record
    model_: Any
    reference_model_: Any

    @abstractmethod
    def _claims(self, claims: "Claims", clip: float | None) -> "Claims":
        """The claims, with what goes without saying for this task."""

    @property
    def ledger_(self) -> "Ledger":
        """What was learned from, and what was tested: `certify` writes its tests down in it."""
        check_is_fitted(self)
        ledger = self.record_.ledger
        if ledger is None:
            ledger = ledger_of_fit(self.record_.digests, self.record_.set_aside, None)
            self.record_ = replace(self.record_, ledger=ledger)
        return ledger

    def certify(
        self,
        X: Any,
        y: Any,
        claims: "float | Claims" = 0.05,
        *,
        groups: Any = None,
        views: Mapping[str, Any] | None = None,
    ) -> "Certificate":
        """Test on fresh trusted rows whether the model that predicts is not worse than its reference.

        Parameters
        ----------
        X, y : rows and right labels that had no part in the fit
        claims : the probability with which a model that is worse may be certified; or Claims, which say more
        groups : array (n,); a claim for each group
        views : name -> the rows of X as seen through that view; a claim for each
        """
        from safegain.certificates.comparison import certify

        check_is_fitted(self)
        seen = {name: rows_of(self, rows) for name, rows in (views or {}).items()}
        made = self._claims(claims_of(claims), self.record_.clip)
        models, rows = (self.model_, self.reference_model_), rows_of(self, X)
        return certify(*models, rows, y, made, groups=groups, views=seen, ledger=self.ledger_)

    def certify_stream(self, X: Any, claims: "float | Claims" = 0.05, *, groups: Any = None) -> "Disagreements":
        """Test with few labels whether the model is not worse than its reference: on rows where they differ.

        Parameters
        ----------
        X : a pool of rows without labels, drawn like those to come, that had no part in the fit
        claims : the probability with which a model that is worse may be certified; or Claims, which say more
        groups : array (n,); a claim for each group
        """
        from safegain.certificates.stream import certify_stream

        check_is_fitted(self)
        models = (self.model_, self.reference_model_)
        return certify_stream(*models, rows_of(self, X), claims_of(claims), groups=groups, ledger=self.ledger_)


def certificate_of_fit(
    claims: "Claims",
    outcome: Outcome,
    labels: Labels,
    rows: Rows,
    masks: Masks,
    groups: np.ndarray | None,
    ledger: "Ledger",
) -> "Certificate":
    """On the rows set aside; the test is written down in the ledger."""
    from safegain.certificates.comparison import certify  # most fits have no use for it

    tested, ranks = masks.tested, labels.ranks
    assert tested is not None
    found = certify(
        outcome.best.model,
        outcome.reference.model,
        everywhere(rows, tested, ranks),
        everywhere(labels.values, tested, ranks),
        claims.with_params(size=None),
        groups=everywhere(groups, tested, ranks) if claims.per_group and groups is not None else None,
        ledger=ledger,
    )
    if not masks.repeats:
        return found
    n = ranks.count(masks.of_sample.sum())
    about = f"{masks.repeats:,} of {n:,} trusted rows repeat others: the claim is about rows unlike those of the fit."
    return replace(found, remarks=(about, *found.remarks))
