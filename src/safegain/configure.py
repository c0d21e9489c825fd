"""From the names that a user writes to the objects that do the work."""

import torch

from safegain.descent import Adam, GradientDescent, Momentum, RMSProp
from safegain.hypergradient import Cholesky, ConjugateGradient, Engine, Neumann, Unrolled
from safegain.inputs import Inputs, Rows
from safegain.models import Linear, Model, Module, TwoLayer
from safegain.solvers import DENSE_HESSIAN, ClosedForm, Descent, Newton, Solver

LINEAR = ("ridge", "softmax")
RULES = {"gd": GradientDescent, "momentum": Momentum, "rmsprop": RMSProp, "adam": Adam}
SOLVERS = ("auto", "closed-form", "newton", *RULES)
ENGINES = ("auto", "cholesky", "cg", "neumann", "unrolled", "truncated")


def make_model(
    model: str | torch.nn.Module, X: Rows, inputs: Inputs, *, n_hidden: int, n_classes: int | None
) -> Model:
    n_outputs = n_classes or 1
    if isinstance(model, torch.nn.Module):
        made = Module(model, n_outputs, dtype=inputs.dtype)
        shape = tuple(made.outputs(made.init(torch.Generator()), inputs.rows(X[:2])).shape)
        if shape != (len(X[:2]), n_outputs):
            wanted = "one output" if n_classes is None else f"{n_classes} logits, one for each class of y"
            raise ValueError(f"model: the module gives outputs of shape {shape} for 2 rows; it must give {wanted}")
        return made
    if model in LINEAR:
        return Linear(X.shape[1] + 1, n_outputs)
    return TwoLayer(X.shape[1], n_hidden, n_outputs, dtype=inputs.dtype)


def make_solver(
    solver: str, model: str | torch.nn.Module, *, steps: int, learning_rate: float, batch_size: int | None, seed: int
) -> Solver:
    if solver == "auto":
        solver = {"ridge": "closed-form", "softmax": "newton"}.get(str(model), "gd")
    if solver in RULES:
        return Descent(RULES[solver](learning_rate), steps, batch_size, seed)
    return ClosedForm() if solver == "closed-form" else Newton()


def make_engine(engine: str | Engine, model: Model, solver: Solver) -> Engine:
    if isinstance(engine, Engine):
        return engine
    if engine == "auto":
        if isinstance(solver, Descent):
            return Unrolled()
        return Cholesky() if model.n_parameters <= DENSE_HESSIAN else ConjugateGradient()
    if engine == "truncated":
        return Unrolled(last=max(1, solver.steps // 10) if isinstance(solver, Descent) else None)
    return {"cholesky": Cholesky, "cg": ConjugateGradient, "neumann": Neumann, "unrolled": Unrolled}[engine]()
