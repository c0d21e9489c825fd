"""A mixture of a few candidates, put together greedily by log-loss on rows that none of them has seen."""

from dataclasses import dataclass

import numpy as np

from safegain.learners.mixture import MOST, sharpened
from safegain.search.jury import Jury

SHARES = (0.2, 0.35, 0.5)  # of the mixture that a new member may get
LEAST_GAIN = 0.002  # of the log-loss, for a member to join


@dataclass(frozen=True)
class Mix:
    members: tuple[int, ...]  # numbers of candidates
    weights: tuple[float, ...]
    sharpness: tuple[float, ...]
    P: np.ndarray  # (m, k) on the judged rows


def mixed(found: list[np.ndarray], jury: Jury) -> Mix:
    """`found` are the class probabilities of each candidate on the rows of the jury  # (m, k) each"""
    sharpness = [jury.sharpness(P) for P in found]
    even = [sharpened(P, each) for P, each in zip(found, sharpness, strict=True)]
    first = min(range(len(even)), key=lambda number: jury.loss(even[number]))
    members, weights, P = [first], np.ones(1), even[first]
    while len(members) < MOST:
        tries = [
            (jury.loss((1 - a) * P + a * even[number]), number, a)
            for number in range(len(even))
            if number not in members
            for a in SHARES
        ]
        if not tries or min(tries)[0] > jury.loss(P) - LEAST_GAIN:
            break
        _, number, a = min(tries)
        members, weights, P = [*members, number], np.append((1 - a) * weights, a), (1 - a) * P + a * even[number]
    return Mix(tuple(members), tuple(weights.tolist()), tuple(sharpness[number] for number in members), P)
