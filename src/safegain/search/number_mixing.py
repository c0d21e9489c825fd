"""A mixture of a few candidates for numbers, by rows that none of them has seen.

    min over a on the simplex of   sum_i c_i (y_i - sum_h a_h f_hi)^2  +  PRIOR l |a - b|^2

f_hi is what candidate h says of row i, c_i what that row counts, and l the least loss of a candidate alone. Few rows
would choose by luck: the second term draws towards b, equal shares of the best few, as if PRIOR rows said so
(docs/decisions/0023). Those with the largest shares stay, and share the whole among them once more.
"""

import numpy as np

from safegain.evidence.stacking import weighted_stack
from safegain.learners.mixture import MOST
from safegain.search.mixing import LEAST_SHARE, Mix
from safegain.search.number_jury import NumberJury

PRIOR = 3.0  # rows


def mixed_numbers(found: list[np.ndarray], jury: NumberJury) -> Mix:
    """`found` are the numbers of each candidate on the rows of the jury  # (m,) each"""
    F, losses = np.stack(found)[:, : len(jury.said)], np.array([jury.loss(P) for P in found])
    best = np.isin(np.arange(len(found)), np.argsort(losses, kind="stable")[:MOST])
    pull = PRIOR * float(losses.min())
    shares = weighted_stack(F, jury.said, jury.counts, best / best.sum(), pull)
    chosen = np.argsort(-shares, kind="stable")[:MOST]
    chosen = chosen[shares[chosen] >= LEAST_SHARE * shares[chosen[0]]]
    best = best[chosen] if best[chosen].any() else ~best[chosen]
    shares = weighted_stack(F[chosen], jury.said, jury.counts, best / best.sum(), pull)
    P = shares @ np.stack([found[number] for number in chosen])
    return Mix(tuple(chosen.tolist()), tuple(shares.tolist()), (), P)
