"""From the names that a user writes to the objects that do the work."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from safegain.bilevel.hypergradient import Cholesky, ConjugateGradient, Engine, Neumann, Unrolled
from safegain.bilevel.linear_algebra import largest_curvature
from safegain.bilevel.losses import SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Linear, Model, Module, TwoLayer
from safegain.bilevel.models.base import DENSE_HESSIAN
from safegain.bilevel.solvers import ClosedForm, Descent, Newton, Solver
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp, UpdateRule
from safegain.data.inputs import Inputs, Rows
from safegain.data.ranks import ALONE, Ranks
from safegain.data.rows import StreamedRows

LINEAR = ("ridge", "softmax")
RULES: dict[str, type[UpdateRule]] = {
    "gd": GradientDescent,
    "momentum": Momentum,
    "rmsprop": RMSProp,
    "adam": Adam,
}
SOLVERS = ("auto", "closed-form", "newton", *RULES)
MOST_FACTORED = 20_000  # parameters: a Hessian of 3.2 GB
SAMPLE = 4096  # rows that settle the learning rate where rows are streamed
ENGINES = ("auto", "cholesky", "cg", "neumann", "unrolled", "truncated")


def make_model(
    model: str | torch.nn.Module,
    X: Rows,
    inputs: Inputs,
    *,
    n_hidden: int,
    n_classes: int | None,
    gain: float | None = None,
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
    return TwoLayer(X.shape[1], n_hidden, n_outputs, dtype=inputs.dtype, gain=gain)


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
    """The solver by name, its learning rate settled on the raw problem at the start `theta` if none is given.

    Of rows that are streamed, SAMPLE evenly spaced ones stand for all.
    """
    solver = inner.solver
    least_squares = isinstance(lower.model, Linear) and isinstance(lower.loss, SquaredError)
    if solver == "auto":
        # Normal equations need a (d, d) matrix: for many columns, Newton's products with the rows are cheaper.
        solver = "gd" if not isinstance(lower.model, Linear) else "newton"
        if least_squares and lower.model.n_parameters <= DENSE_HESSIAN:
            solver = "closed-form"
    if solver == "closed-form" and not least_squares:
        raise ValueError("solver: 'closed-form' is for model='ridge'; use 'newton', 'gd' or 'adam' here")
    if solver not in RULES:
        return ClosedForm() if solver == "closed-form" else Newton(inner.tol)
    rule = RULES[solver]
    rate = inner.learning_rate or rule.usual_rate
    if rate is None:
        if isinstance(lower.X, StreamedRows):  # the curvature of some rows is near that of all
            rows = torch.linspace(0, len(lower.X) - 1, min(SAMPLE, len(lower.X)), dtype=torch.float64).long()
            base = None if lower.base is None else lower.base[rows]
            lower, w, Q = replace(lower, X=lower.X[rows], base=base), w[rows], Q[rows]
        # The gradient has a part in every direction that the descent will move in.
        g = lower.gradient(theta, w, Q)
        rate = rule.share / largest_curvature(lower.hessian_product(theta, w, Q), g)
    return Descent(rule(rate), inner.steps, inner.batch_size, seed, inner.memory_budget)


def make_engine(engine: str | Engine, model: Model, solver: Solver) -> Engine:
    """The engine by name or as it is, checked against the solver."""
    made = engine if isinstance(engine, Engine) else _named_engine(engine, model, solver)
    made.check(solver)
    if isinstance(made, Cholesky) and model.n_parameters > MOST_FACTORED:
        p = model.n_parameters
        raise ValueError(
            f"engine: 'cholesky' would factor a Hessian of {p} x {p}; use 'cg', or 'unrolled' for a network"
        )
    return made


def walks_back(solver: str, engine: str | Engine) -> bool:
    """Hypergradients of a network come from the steps of a descent."""
    named = isinstance(engine, Unrolled) or engine in ("auto", "unrolled", "truncated")
    return named and solver in ("auto", *RULES)


def _named_engine(engine: str, model: Model, solver: Solver) -> Engine:
    if engine == "auto":
        if isinstance(solver, Descent):
            return Unrolled()
        if isinstance(solver, ClosedForm) or (model.forms_hessian and not isinstance(model, Linear)):
            return Cholesky()
        engine = "cg"
    if engine == "cg" and isinstance(solver, Newton):
        # A gradient of size tol at the solution moves a hypergradient by about ten times that, relative to it.
        return ConjugateGradient(tol=10 * solver.tol)
    if engine == "truncated":
        return Unrolled(last=max(1, solver.steps // 10) if isinstance(solver, Descent) else None)
    return {"cholesky": Cholesky, "cg": ConjugateGradient, "neumann": Neumann, "unrolled": Unrolled}[engine]()
