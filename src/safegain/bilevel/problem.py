"""A bi-level problem and how it is solved: the five objects that an outer loop needs.

min over (w, Q) in Lambda of L_val(theta(w, Q)),    theta(w, Q) = argmin_theta L_train(theta; w, Q)         Eq. (7)
"""

from dataclasses import dataclass

from safegain.bilevel.engine import Engine
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.search_space import SearchSpace
from safegain.bilevel.solvers import Solver
from safegain.bilevel.upper import UpperLevel


@dataclass(frozen=True)
class Bilevel:
    lower: LowerLevel  # L_train
    upper: UpperLevel  # L_val
    space: SearchSpace  # Lambda, and what is varied in it
    solver: Solver  # from (w, Q) to theta
    engine: Engine  # from dL_val/dtheta to dL_val/d(w, Q)
