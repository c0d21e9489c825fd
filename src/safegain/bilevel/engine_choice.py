"""From the name of an engine to the engine, checked against model and solver."""

from safegain.bilevel.engine import Engine
from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
from safegain.bilevel.models import Linear, Model
from safegain.bilevel.settling import RULES
from safegain.bilevel.solvers import ClosedForm, Descent, Newton, Solver
from safegain.bilevel.unrolled import Unrolled

ENGINES = ("auto", "cholesky", "cg", "neumann", "unrolled", "truncated")
MOST_FACTORED = 20_000  # parameters: a Hessian of 3.2 GB


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


def walks_back(solver: str | Solver, engine: str | Engine) -> bool:
    """Whether a network's hypergradients will come from the steps of a descent."""
    back = isinstance(engine, Unrolled) or engine in ("auto", "unrolled", "truncated")
    return back and (isinstance(solver, Descent) or solver in ("auto", *RULES))


def _named_engine(engine: str, model: Model, solver: Solver) -> Engine:
    if engine not in ENGINES:
        raise ValueError(f"engine: takes one of {', '.join(ENGINES)}, or an engine; got {engine!r}")
    if engine == "auto":
        if isinstance(solver, Descent):
            return Unrolled(last=solver.rule.tail(solver.n_steps))
        if isinstance(solver, ClosedForm) or (model.forms_hessian and not isinstance(model, Linear)):
            return Cholesky()
        engine = "cg"
    if engine == "cg" and isinstance(solver, Newton):
        # A gradient of size tol at the solution moves a hypergradient by about ten times that, relative to it.
        return ConjugateGradient(tol=10 * solver.tol)
    if engine == "truncated":
        return Unrolled(last=max(1, solver.n_steps // 10) if isinstance(solver, Descent) else None)
    return {"cholesky": Cholesky, "cg": ConjugateGradient, "neumann": Neumann, "unrolled": Unrolled}[engine]()
