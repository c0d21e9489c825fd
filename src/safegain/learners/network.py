"""The two-layer network as a learner: trained by the recipe, or by a solver that a search can walk back over."""

from dataclasses import replace
from typing import Any, ClassVar

from safegain.bilevel.models import TwoLayer
from safegain.bilevel.settling import SOLVERS, is_solver
from safegain.bilevel.solvers import Solver
from safegain.data.inputs import Inputs, fit_inputs
from safegain.data.parts import Parts
from safegain.data.settings import check, is_number, is_whole, setting
from safegain.learners.base import ALPHA, SCALINGS, Differentiable, Learner, Setup
from safegain.learners.recipe import GAIN, N_HIDDEN, Recipe, recipe_for
from safegain.learners.target import Target
from safegain.learners.trained import TrainedModel
from safegain.learners.training import bare_parts, train_by_recipe, train_by_solver

BEGINNING, LEAST_STEPS = 0.5, 50  # seconds, and steps that are worth their time
SOLVER_HIDDEN = 100  # units where a solver trains the network: hypergradients walk back over every step


@setting
class Network(Differentiable):
    """One hidden layer of rectified units.

    A classifier is trained by the recipe: mini-batches, dropout, AdamW, a rate that rises and falls. Numbers, and a
    network with a `solver`, use that solver instead.

    Parameters
    ----------
    n_hidden : hidden units; None is 256 by the recipe and 100 by a solver
    recipe : how the recipe trains; None is Recipe(). Not for a network that a solver trains.
    solver : "gd", "momentum", "rmsprop", "adam", "newton", or an object such as Descent(Adam(0.01), n_steps=300); None
        is the recipe for classes, and "gd" for numbers
    alpha : L2 penalty alpha/2 |theta|^2 where a solver trains, on weights and not on biases; None is 1e-4. The recipe
        has its own weight decay.
    scaling : "column" standardises every column, "common" centres them and divides all by one number, "none" leaves
        them; "auto" is "common" unless the columns' scales are more than a hundred times apart
    """

    n_hidden: int | None = None
    recipe: Recipe | None = None
    solver: str | Solver | None = None
    alpha: float | None = None
    scaling: str = "auto"

    scales: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, "n_hidden", "be a whole number of at least 1", self.n_hidden is None or is_whole(self.n_hidden))
        check(self, "recipe", "be a Recipe", self.recipe is None or isinstance(self.recipe, Recipe))
        alpha = self.alpha
        check(self, "alpha", "be a number of at least 0", alpha is None or (is_number(alpha) and alpha >= 0))
        check(self, "scaling", f"be one of {', '.join(SCALINGS)}", self.scaling in SCALINGS)
        if self.solver is not None:
            check(self, "solver", f"be a solver or one of {', '.join(SOLVERS)}", is_solver(self.solver))
            check(self, "recipe", "be None where a solver trains", self.recipe is None)

    def train(self, X: Any, target: Target, seed: int) -> TrainedModel:
        if target.classes is None or self.solver is not None:
            return train_by_solver(self, X, target, seed)
        self.check_contest()
        recipe = self.recipe or recipe_for(len(target))
        setup = self._recipe_setup(bare_parts(X, target), recipe, "one-cycle")
        return train_by_recipe(setup, X, target, recipe, seed)

    def check_contest(self) -> None:
        if self.solver is None and self.alpha is not None:
            raise ValueError(
                f"Network: alpha={self.alpha} is the penalty of a solver, and the recipe trains here; set "
                "Recipe(weight_decay=...), or give a solver"
            )

    def cost(self, n: int, d: int, k: int) -> float:
        recipe = self.recipe or recipe_for(n)
        return BEGINNING + recipe.n_steps * recipe.batch_size * (self.n_hidden or N_HIDDEN) * (d + k + 20) * 2e-10

    def in_time(self, seconds: float, n: int, d: int, k: int) -> Learner:
        recipe, cost = self.recipe or recipe_for(n), self.cost(n, d, k)
        if cost <= seconds or self.solver is not None or k == 1:  # a solver has its own end
            return self
        n_steps = int(recipe.n_steps * (seconds - BEGINNING) / (cost - BEGINNING))
        return replace(self, recipe=recipe.shortened(max(n_steps, LEAST_STEPS)))

    def setup(self, parts: Parts) -> Setup:
        if parts.classes is not None and self.solver is None:
            self.check_contest()
            recipe = self.recipe or recipe_for(parts.ranks.count(len(parts.weak)))
            return self._recipe_setup(parts, recipe, recipe.descent())
        if self.recipe is not None:
            raise ValueError("Network: the recipe trains classifiers; give a solver, for example solver='adam'")
        inputs, sizes = self._inputs(parts)
        model = TwoLayer(n_hidden=self.n_hidden or SOLVER_HIDDEN, **sizes)
        return Setup(inputs, model, self.solver or "gd", ALPHA if self.alpha is None else self.alpha)

    def _recipe_setup(self, parts: Parts, recipe: Recipe, solver: str | Solver) -> Setup:
        """The recipe decays weights by itself, so that the lower level has no penalty."""
        inputs, sizes = self._inputs(parts)
        model = TwoLayer(n_hidden=self.n_hidden or N_HIDDEN, gain=GAIN, dropout=recipe.dropout, **sizes)
        return Setup(inputs, model, solver, alpha=0.0)

    def _inputs(self, parts: Parts) -> tuple[Inputs, dict[str, Any]]:
        inputs = fit_inputs(parts.weak.X, model="network", scaling=self.scaling, ranks=parts.ranks)
        return inputs, {"n_features": parts.weak.X.shape[1], "n_outputs": parts.n_classes or 1, "dtype": inputs.dtype}
