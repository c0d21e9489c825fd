"""With less time than a fit would take, how many rows are learned from.

Then boosting finds the evidence, and learners that gain from many rows compete: of those a part of the rows, or of the
steps, is a smaller model and not another one.
"""

import time

import numpy as np
import scipy.sparse

from safegain.data.any_rows import AnyRows
from safegain.data.inputs import taken_rows
from safegain.data.parts import Parts
from safegain.learners.base import Learner
from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.kernel_machine import KernelMachine
from safegain.learners.several import Several
from safegain.learners.target import Target
from safegain.search.clock import Clock
from safegain.search.folds import RIGHT_PARTS
from safegain.search.problem import Problem

# Trainings that tell how fast this machine is: rows; and seconds at least, of the budget, and at most. Of a very short
# one, what comes before the first step would be most.
PILOT_ROWS, PILOT = 20_000, (0.2, 0.03, 2.0)
EVIDENCE = 0.25  # of the time that is left
FIRST_ROWS = 200
LEAST_ROWS = 2000
ENOUGH = 0.5  # of the time that is left: what would take less may go its usual way
ROUNDS, FORESTS, FOLDS = 2, 2, 2  # of evidence: a fold of the contest, and the last one


def rows_in_time(problem: Problem, clock: Clock) -> int | None:
    """Weak rows to learn from in a hurry; None: there is time enough, or nothing that could be made smaller."""
    parts = problem.parts
    if isinstance(parts.weak.X, AnyRows) or scipy.sparse.issparse(parts.weak.X):
        return None
    learners = problem.learner.learners if isinstance(problem.learner, Several) else [problem.learner]
    _pilot(parts, [Boosting(), *learners], clock)
    n, d, k = size = (len(parts.weak), int(np.prod(parts.weak.X.shape[1:])), parts.n_classes or 1)
    folds = FOLDS if parts.labelled.any() else RIGHT_PARTS + 1
    usual = folds * ROUNDS * (clock.seconds(KernelMachine(), size) + FORESTS * clock.seconds(Forest(), size))
    usual += folds * sum(clock.seconds(each, size) for each in learners)
    if usual <= ENOUGH * clock.left:
        return None
    head, seconds = Boosting(), EVIDENCE * clock.left
    rows = n
    while rows > LEAST_ROWS and clock.seconds(head, (rows, d, k)) > seconds:
        rows = max(int(rows / 1.2), LEAST_ROWS)
    return rows


def _pilot(parts: Parts, learners: list[Learner], clock: Clock) -> None:
    """A short training of each kind of learner that can be short; rows without a label get one that others have."""
    some = np.unique(np.linspace(0, len(parts.weak) - 1, PILOT_ROWS).astype(int))
    X = np.asarray(taken_rows(parts.weak.X, some), dtype=np.float32).reshape(len(some), -1)
    bare, y = ~parts.labelled.numpy()[some], parts.weak.y.numpy()[some]
    known = np.concatenate([y[~bare], *(part.y.numpy() for part in parts.trusted)])
    y[bare] = np.resize(known, bare.sum())
    target = Target(y, None) if parts.classes is None else Target.of_codes(y, parts.classes)
    size = (*X.shape, parts.n_classes or 1)
    least, share, most = PILOT
    seconds = min(max(least, share * (clock.budget or 0.0)), most)
    for learner in {type(each): each for each in learners}.values():
        short = learner.in_time(seconds, *size)
        if short is not learner:
            few = np.arange(min(FIRST_ROWS, len(X)))
            short.train(X[few], target.taken(few), 0)  # what it imports is no training
            began = time.monotonic()
            short.train(X, target, 0)
            clock.learn(short, size, time.monotonic() - began)
