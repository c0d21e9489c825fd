"""Theorem 1, measured: how far the unrolled hypergradient is from the implicit one after T steps; no method to compare.

Softmax regression is strongly convex, so the error must fall by a constant factor per step, 1 - rate times the least
curvature at the solution.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.implicit import Cholesky
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import task_measure
from safegain.bilevel.models import Linear
from safegain.bilevel.safeness import Requirement
from safegain.bilevel.solvers import Descent, Newton, Solver
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import GradientDescent
from safegain.bilevel.upper import UpperLevel
from safegain.data.inputs import fit_inputs

NAME = "unrolled against implicit"
STEPS = (1, 25, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500)


def measure(problem: Any, seed: int, *, quick: bool, alpha: float) -> dict[str, Any]:
    lower, upper = _levels(problem, alpha)
    w, Q = torch.ones(lower.n_rows, dtype=torch.float64), _one_hot(problem.y[~problem.trusted])
    start = lower.model.init(torch.Generator())

    def hypergradient(solver: Solver, engine: Engine) -> Tensor:
        solution = solver.solve(lower, w, Q, start=start, tail=engine.tail)
        v = upper.gradient(solution.theta, torch.zeros(1, dtype=torch.float64))
        found = engine.hypergradient(lower, solution, w, Q, v)
        return torch.cat([found.w, found.Q.flatten()])

    newton = Newton(tol=1e-13)
    exact = hypergradient(newton, Cholesky())
    solution = newton.solve(lower, w, Q, start=start).theta
    # The logits' curvature is largest at the start, where all classes are alike; a step of 1 / that is stable.
    rate = 1 / float(torch.linalg.eigvalsh(lower.hessian(start, w, Q))[-1])
    steps = STEPS[:4] if quick else STEPS
    errors = [
        float((hypergradient(Descent(GradientDescent(rate), T), Unrolled()) - exact).norm() / exact.norm())
        for T in steps
    ]
    least = float(torch.linalg.eigvalsh(lower.hessian(solution, w, Q))[0])
    return {"steps": list(steps), "error": errors, "factor": 1 - rate * least}


def _levels(problem: Any, alpha: float) -> tuple[LowerLevel, UpperLevel]:
    weak, trusted = ~problem.trusted, problem.trusted
    X = np.asarray(problem.X, dtype=np.float64)
    inputs = fit_inputs(X[weak], model="linear", scaling="auto")
    model = Linear(X.shape[1] + 1, int(problem.true.max()) + 1)
    lower = LowerLevel(model, CrossEntropy(), inputs.rows(X[weak]), None, alpha)
    n = int(trusted.sum())
    even = torch.full((n,), 1 / n, dtype=torch.float64)
    requirement = Requirement("trusted rows", inputs.rows(X[trusted]), even, task_measure(True))
    return lower, UpperLevel(model, torch.from_numpy(problem.y[trusted].astype(np.int64)), (requirement,))


def _one_hot(y: np.ndarray) -> Tensor:
    return torch.eye(10, dtype=torch.float64)[torch.from_numpy(y.astype(np.int64))]
