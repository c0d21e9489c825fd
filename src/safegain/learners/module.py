"""Any torch.nn.Module of the user's as a learner."""

from typing import Any, ClassVar

import torch

from safegain.bilevel.models import Module as ModuleModel
from safegain.bilevel.settling import SOLVERS, is_solver
from safegain.bilevel.solvers import Solver
from safegain.data.inputs import fit_inputs
from safegain.data.parts import Parts
from safegain.data.settings import check, is_number, setting
from safegain.learners.base import ALPHA, SCALINGS, Differentiable, Setup
from safegain.learners.target import Target
from safegain.learners.trained import TrainedModel
from safegain.learners.training import train_by_solver


@setting
class Module(Differentiable):
    """A module that maps a batch of rows to logits, or to one number.

    It is copied, and starts from the weights that it has. Batch normalisation keeps its statistics; dropout is active
    in the steps of a descent only. `PGSClassifier(module)` is short for `PGSClassifier(Module(module))`.

    Parameters
    ----------
    module : torch.nn.Module
    solver : "gd", "momentum", "rmsprop", "adam", "newton", or an object such as Descent(Adam(0.01), n_steps=300)
    alpha : L2 penalty alpha/2 |theta|^2, not on vectors such as biases
    scaling : as for Network; "auto" leaves rows as they are
    """

    module: torch.nn.Module
    solver: str | Solver = "gd"
    alpha: float = ALPHA
    scaling: str = "auto"

    takes_arrays: ClassVar[bool] = True
    shares_threads: ClassVar[bool] = False  # nobody knows what it does

    def __post_init__(self) -> None:
        check(self, "module", "be a torch.nn.Module", isinstance(self.module, torch.nn.Module))
        check(self, "alpha", "be a number of at least 0", is_number(self.alpha) and self.alpha >= 0)
        check(self, "scaling", f"be one of {', '.join(SCALINGS)}", self.scaling in SCALINGS)
        check(self, "solver", f"be a solver or one of {', '.join(SOLVERS)}", is_solver(self.solver))

    def train(self, X: Any, target: Target, seed: int) -> TrainedModel:
        return train_by_solver(self, X, target, seed)

    def cost(self, n: int, d: int, k: int) -> float:
        return 1e-6 * n * sum(each.numel() for each in self.module.parameters()) / 100

    def setup(self, parts: Parts) -> Setup:
        X, ranks, n_outputs = parts.weak.X, parts.ranks, parts.n_classes or 1
        inputs = fit_inputs(X, model="module", scaling=self.scaling, ranks=ranks)
        model, few = ModuleModel(self.module, n_outputs, dtype=inputs.dtype), X[:2]
        model.module.load_state_dict(ranks.gather(model.module.state_dict())[0])  # all start from the first one's
        try:
            shape = tuple(model.outputs(model.init(torch.Generator()), inputs.rows(few)).shape)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
            raise ValueError(f"model: the module fails on a batch of shape {few.shape}, with {found}") from error
        if shape != (len(few), n_outputs):
            wanted = "one output" if parts.classes is None else f"{n_outputs} logits, one for each class of y"
            found = f"outputs of shape {shape} for {len(few)} rows"
            raise ValueError(f"model: the module gives {found}; it must give {wanted}")
        return Setup(inputs, model, self.solver, self.alpha)
