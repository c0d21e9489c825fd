"""Linear models: ridge regression for numbers, logistic or softmax regression for classes."""

from dataclasses import replace
from typing import Any, ClassVar

from safegain.bilevel.models import Linear as LinearModel
from safegain.bilevel.settling import SOLVERS, is_solver
from safegain.bilevel.solvers import Solver
from safegain.data.inputs import fit_inputs
from safegain.data.parts import Parts
from safegain.data.settings import check, is_number, setting
from safegain.learners.base import ALPHA, SCALINGS, Differentiable, Learner, Setup
from safegain.learners.target import Target
from safegain.learners.trained import TrainedModel
from safegain.learners.training import train_by_solver


@setting
class Linear(Differentiable):
    """Regularised least squares for numbers, softmax regression for classes; dense or sparse rows.

    Parameters
    ----------
    alpha : L2 penalty alpha/2 |theta|^2, on weights and not on intercepts. None is 1e-4; a contest then
        tries larger ones too, which stand noisy labels and few rows
    solver : "auto", "closed-form" (numbers), "newton", a descent by name ("gd", "momentum", "rmsprop", "adam"), or
        an object: ClosedForm(), Newton(tol=...), Descent(Adam(0.01), n_steps=...). "auto" is "closed-form" for numbers
        with up to 1,500 columns, and "newton" otherwise.
    scaling : "column" standardises every column, "common" centres them and divides all by one number, "none" leaves
        them; "auto" is "column"
    """

    alpha: float | None = None
    solver: str | Solver = "auto"
    scaling: str = "auto"

    takes_sparse: ClassVar[bool] = True
    linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        alpha = self.alpha
        check(self, "alpha", "be a number of at least 0", alpha is None or (is_number(alpha) and alpha >= 0))
        check(self, "scaling", f"be one of {', '.join(SCALINGS)}", self.scaling in SCALINGS)
        check(self, "solver", f"be a solver or one of {', '.join(SOLVERS)}", is_solver(self.solver))

    def variants(self, labels: str, n: int, *, classifies: bool) -> tuple[Learner, ...]:
        if self.alpha is not None:
            return (self,)
        alphas = {"trusted": (1e-2, 1e-1), "corrected": (1e-3,)}.get(labels, (1e-3, 1e-1))
        return tuple(replace(self, alpha=alpha) for alpha in alphas)

    def train(self, X: Any, target: Target, seed: int) -> TrainedModel:
        return train_by_solver(self, X, target, seed)

    def cost(self, n: int, d: int, k: int) -> float:
        return 0.05 + n * d * k * (1e-7 + d * 1e-9)  # steps grow with the columns

    def setup(self, parts: Parts) -> Setup:
        inputs = fit_inputs(parts.weak.X, model="linear", scaling=self.scaling, ranks=parts.ranks)
        model = LinearModel(parts.weak.X.shape[1] + 1, parts.n_classes or 1)
        return Setup(inputs, model, self.solver, ALPHA if self.alpha is None else self.alpha)
