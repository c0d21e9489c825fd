"""A mixture of a few candidates, by what rows say that none of them has seen.

    max over w on the simplex of   sum_i c_i log sum_h w_h l_hi  +  sum_h a_h log w_h

l_hi is how likely candidate h finds what row i says, c_i what that row counts. It is concave, and EM finds the maximum.
Few rows would choose by luck: a prior speaks for those that are favoured, with as much as PRIOR rows in all. One that
knows little takes no part: its only use would be to make the others less sure. Those with the largest shares stay, and
share the whole among them once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safegain.learners.mixture import MOST, sharpened
from safegain.search.class_jury import ClassJury

PRIOR = 10.0  # rows
LEAST_SHARE = 0.1  # of the largest share, for a member to stay
LEAST_KNOWN = 0.5  # of what the best candidate gains in log-loss over knowing nothing
STEPS = 200  # of EM


@dataclass(frozen=True)
class Mix:
    members: tuple[int, ...]  # numbers of candidates, the largest share first
    weights: tuple[float, ...]
    sharpness: tuple[float, ...]
    P: np.ndarray  # (m, k) on the judged rows


def mixed(found: list[np.ndarray], jury: ClassJury, favoured: Sequence[int]) -> Mix:
    """`found` are the class probabilities of each candidate on the rows of the jury  # (m, k) each"""
    sharpness = [jury.sharpness(P) for P in found]
    even = [sharpened(P, each) for P, each in zip(found, sharpness, strict=True)]
    known = jury.loss(np.full_like(even[0], 1 / even[0].shape[1])) - np.array([jury.loss(P) for P in even])
    able = np.flatnonzero(known >= min(LEAST_KNOWN * known.max(), known.max()))  # it may be below zero
    likelihoods = np.stack([jury.likelihoods(even[number]) for number in able])
    prior = np.isin(able, favoured) * PRIOR / max(len(favoured), 1)
    shares = best_shares(likelihoods, jury.counts, prior)
    chosen = np.argsort(-shares, kind="stable")[:MOST]
    chosen = chosen[shares[chosen] >= LEAST_SHARE * shares[chosen[0]]]
    members, shares = able[chosen], best_shares(likelihoods[chosen], jury.counts, prior[chosen])
    P = sum(share * even[member] for member, share in zip(members, shares, strict=True))
    return Mix(
        tuple(members.tolist()), tuple(shares.tolist()), tuple(sharpness[member] for member in members), np.asarray(P)
    )


def best_shares(likelihoods: np.ndarray, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """argmax over w of counts @ log(w @ likelihoods) + prior @ log(w)  # (h, m), (m,), (h,) -> (h,)"""
    shares = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(STEPS):
        said = shares[:, None] * likelihoods
        shares = (said / said.sum(axis=0)) @ counts + prior
        shares /= shares.sum()
    return shares
