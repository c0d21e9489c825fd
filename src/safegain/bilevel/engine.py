"""An engine turns v = dL_val/dtheta, at the lower level's solution, into dL_val/dw and dL_val/dQ.

`implicit.py` is Algorithm 1 of the paper, `unrolled.py` is Algorithm 2. Both find the adjoint first; one product with
the rows then serves all of (w, Q), and dtheta/dw is never formed.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from torch import Tensor

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Solution, Solver
from safegain.data.settings import Settings


@dataclass(frozen=True)
class Hypergradient:
    w: Tensor  # (n,)
    Q: Tensor  # (n, k), or (n,)
    report: dict[str, float] = field(default_factory=dict)  # what an inexact engine can say of itself


class Engine(Settings, ABC):
    tail: int | None = 0  # how many of the solver's last steps it walks back; None means all

    def check(self, solver: Solver) -> None:
        """Raise ValueError if this engine cannot differentiate what this solver does."""

    @abstractmethod
    def hypergradient(
        self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor
    ) -> Hypergradient: ...
