"""The certificate that is part of a fit: on trusted rows that nothing has seen before."""

from typing import TYPE_CHECKING

import numpy as np

from safegain.data.inputs import Rows
from safegain.data.labels import Labels
from safegain.data.parts import Masks
from safegain.data.splits import everywhere
from safegain.search.outcome import Outcome

if TYPE_CHECKING:
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.claims import Claims


def certificate_of_fit(
    claims: "Claims", outcome: Outcome, labels: Labels, rows: Rows, masks: Masks, groups: np.ndarray | None
) -> "Certificate":
    from safegain.certificates.comparison import certify  # most fits have no use for it

    aside, ranks = masks.set_aside, labels.ranks
    return certify(
        outcome.best.model,
        outcome.reference.model,
        everywhere(rows, aside, ranks),
        everywhere(labels.values, aside, ranks),
        claims.with_params(size=None),
        groups=everywhere(groups, aside, ranks) if claims.per_group and groups is not None else None,
    )
