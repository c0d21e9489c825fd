"""From the names that a user writes to the objects that do the work."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear, Model, Module, TwoLayer
from safegain.bilevel.settling import named_solver, settled
from safegain.bilevel.solvers import Descent, Newton, Solver
from safegain.data.inputs import Inputs, Rows
from safegain.data.ranks import ALONE, Ranks

LINEAR = ("ridge", "softmax")


def make_model(
    model: str | torch.nn.Module,
    X: Rows,
    inputs: Inputs,
    *,
    n_hidden: int,
    n_classes: int | None,
    ranks: Ranks = ALONE,
) -> Model:
    n_outputs = n_classes or 1
    if isinstance(model, torch.nn.Module):
        made, few = Module(model, n_outputs, dtype=inputs.dtype), X[:2]
        made.module.load_state_dict(ranks.gather(made.module.state_dict())[0])  # all start from the first one's weights
        try:
            shape = tuple(made.outputs(made.init(torch.Generator()), inputs.rows(few)).shape)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise ValueError(f"model: the module fails on a batch of shape {few.shape}, with {found}") from error
        if shape != (len(few), n_outputs):
            wanted = "one output" if n_classes is None else f"{n_classes} logits, one for each class of y"
            found = f"outputs of shape {shape} for {len(few)} rows"
            raise ValueError(f"model: the module gives {found}; it must give {wanted}")
        return made
    if model in LINEAR:
        return Linear(X.shape[1] + 1, n_outputs)
    return TwoLayer(X.shape[1], n_hidden, n_outputs, dtype=inputs.dtype)


@dataclass(frozen=True)
class Inner:
    """How the lower level is to be solved; all but the solver's name and `tol` are for descents."""

    solver: str
    steps: int
    learning_rate: float | None
    batch_size: int | None
    memory_budget: int
    tol: float


def make_solver(inner: Inner, lower: LowerLevel, w: Tensor, Q: Tensor, theta: Tensor, *, seed: int) -> Solver:
    """The solver by name, with what `inner` says of it; see `settling.settled`."""
    solver = named_solver(inner.solver, lower)
    if isinstance(solver, Newton):
        solver = Newton(inner.tol)
    if isinstance(solver, Descent):
        rule = replace(solver.rule, learning_rate=inner.learning_rate)
        solver = Descent(rule, inner.steps, inner.batch_size, inner.memory_budget)
    return settled(solver, lower, w, Q, theta, seed=seed)
