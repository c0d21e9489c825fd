"""The certificate that is part of a fit: on trusted rows that nothing has seen before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from safegain.data.digest import digests
from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parts import Aside, Masks
from safegain.data.splits import Said, everywhere
from safegain.estimators.parameters import claims_of
from safegain.search.outcome import Outcome

if TYPE_CHECKING:
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.claims import Claims
    from safegain.certificates.ledger import Ledger


@dataclass(frozen=True)
class Proof:
    """Which rows a certificate may be made of, and what must be remembered for later ones."""

    digests: np.ndarray  # (n, 2) of the rows of the fit
    drawn: Callable[..., Aside] | None  # what draws the rows to set aside; None: no certificate is asked for
    ledger: "Ledger"  # of earlier fits, and then of this one

    @classmethod
    def begun(cls, certificate: "float | Claims | None", rows: Rows, said: Said, earlier: "Ledger | None") -> "Proof":
        from safegain.certificates.ledger import Ledger

        found, drawn = digests(rows), None
        if certificate is not None:
            from safegain.certificates.setting_aside import drawn_aside  # most fits have no use for it

            if said.trusted is None:
                raise ValueError(
                    "certificate: needs rows whose labels you trust, and none are named; noisy labels that stand in "
                    "for them prove nothing. Give trusted or right, or leave certificate out"
                )
            drawn = partial(drawn_aside, claims_of(certificate), found, earlier or Ledger())
        return cls(found, drawn, earlier or Ledger())

    def of(self, masks: Masks) -> "Proof":
        """With the ledger of this fit, which has learned from all rows that are not set aside."""
        return replace(self, ledger=self.ledger.after(self.digests[~masks.set_aside]))


def certificate_on(
    rows: Rows, y: Any, fitted: Any, claims: "Claims", groups: Any, views: Mapping[str, Rows]
) -> "Certificate":
    """Of a fitted estimator, on fresh rows."""
    from safegain.certificates.comparison import certify

    models = fitted.model_, fitted.reference_model_
    return certify(*models, rows, y, claims, groups=groups, views=views, ledger=fitted.ledger_)


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
    return certify(
        outcome.best.model,
        outcome.reference.model,
        everywhere(rows, tested, ranks),
        everywhere(labels.values, tested, ranks),
        claims.with_params(size=None),
        groups=everywhere(groups, tested, ranks) if claims.per_group and groups is not None else None,
        ledger=ledger,
    )
