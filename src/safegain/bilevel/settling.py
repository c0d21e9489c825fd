"""From the name of a solver, or from one with open settings, to the solver that runs."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from safegain.bilevel.linear_algebra import largest_curvature
from safegain.bilevel.losses import SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear
from safegain.bilevel.models.base import DENSE_HESSIAN
from safegain.bilevel.solvers import ClosedForm, Descent, Newton, Solver
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, OneCycleAdamW, RMSProp, UpdateRule
from safegain.data.rows import StreamedRows

RULES: dict[str, type[UpdateRule]] = {
    "gd": GradientDescent,
    "momentum": Momentum,
    "rmsprop": RMSProp,
    "adam": Adam,
    "one-cycle": OneCycleAdamW,
}
SOLVERS = ("auto", "closed-form", "newton", *RULES)
SAMPLE = 4096  # rows that settle the learning rate where rows are streamed


def settled(solver: str | Solver, lower: LowerLevel, w: Tensor, Q: Tensor, theta: Tensor, *, seed: int) -> Solver:
    """The solver, by name or as it is, without open settings: what is None is settled on the raw problem.

    (w, Q) is the raw problem's point and `theta` where its descent starts; `seed` is for a descent that has none.
    """
    chosen = named_solver(solver, lower) if isinstance(solver, str) else solver
    if isinstance(chosen, ClosedForm) and not _least_squares(lower):
        raise ValueError(
            "solver: ClosedForm is for a linear model of numbers; here it is "
            f"{type(lower.model).__name__} with {type(lower.loss).__name__}. Use Newton or Descent"
        )
    if not isinstance(chosen, Descent):
        return chosen
    rule = chosen.rule
    if rule.learning_rate is None:
        rule = replace(rule, learning_rate=rule.usual_rate or _rate(rule, lower, w, Q, theta))
    return replace(chosen, rule=rule, seed=seed if chosen.seed is None else chosen.seed)


def is_solver(solver: Any) -> bool:
    return isinstance(solver, Solver) or (isinstance(solver, str) and solver in SOLVERS)


def named_solver(name: str, lower: LowerLevel) -> Solver:
    """The solver of that name with its default settings; "auto" is the one for this model and loss."""
    if name not in SOLVERS:
        raise ValueError(f"solver: takes one of {', '.join(SOLVERS)}, or a solver; got {name!r}")
    if name == "auto":
        # Normal equations need a (d, d) matrix: for many columns, Newton's products with the rows are cheaper.
        few = lower.model.n_parameters <= DENSE_HESSIAN
        name = "closed-form" if _least_squares(lower) and few else "newton" if isinstance(lower.model, Linear) else "gd"
    if name in RULES:
        return Descent(RULES[name]())
    return ClosedForm() if name == "closed-form" else Newton()


def _least_squares(lower: LowerLevel) -> bool:
    return isinstance(lower.model, Linear) and isinstance(lower.loss, SquaredError)


def _rate(rule: UpdateRule, lower: LowerLevel, w: Tensor, Q: Tensor, theta: Tensor) -> float:
    """The rule's share over the largest curvature at the start."""
    if isinstance(lower.X, StreamedRows):  # the curvature of some rows, evenly spaced, is near that of all
        rows = torch.linspace(0, len(lower.X) - 1, min(SAMPLE, len(lower.X)), dtype=torch.float64).long()
        base = None if lower.base is None else lower.base[rows]
        lower, w, Q = replace(lower, X=lower.X[rows], base=base), w[rows], Q[rows]
    # The gradient has a part in every direction that the descent will move in.
    g = lower.gradient(theta, w, Q)
    return rule.share / largest_curvature(lower.hessian_product(theta, w, Q), g)
