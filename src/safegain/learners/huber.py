"""Linear regression that large errors hardly move: Huber's (1964) estimate, by least squares again and again.

    argmin over theta of   sum_i w_i rho((y_i - f_i) / s)  +  alpha / 2 |theta|^2

rho is a square up to the cutoff and a line beyond it. Each fit weighs a row by min(1, cutoff s / |y_i - f_i|) of the
fit before it, and s is the median error of that fit, as a standard deviation.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from safegain.data.settings import check, is_number, is_whole, setting
from safegain.learners.base import SCALINGS, Learner
from safegain.learners.linear import Linear
from safegain.learners.target import Target
from safegain.learners.trained import TrainedModel

NORMAL = 1.4826  # standard deviations of a normal error, whose median size is one
SETTLED = 1e-4  # of s, that predictions change by


@setting
class Huber(Learner):
    """Linear regression of numbers that stands large errors; dense or sparse rows.

    Parameters
    ----------
    cutoff : standard deviations of ordinary errors, beyond which an error counts by its size and not by its square
    alpha : L2 penalty alpha/2 |theta|^2, on weights and not on the intercept
    scaling : of the columns, as for Linear
    max_iter : fits at most
    """

    cutoff: float = 1.35
    alpha: float = 1e-3
    scaling: str = "auto"
    max_iter: int = 30

    takes_sparse: ClassVar[bool] = True
    scales: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check(self, "cutoff", "be a positive number", is_number(self.cutoff) and self.cutoff > 0)
        check(self, "alpha", "be a number of at least 0", is_number(self.alpha) and self.alpha >= 0)
        check(self, "scaling", f"be one of {', '.join(SCALINGS)}", self.scaling in SCALINGS)
        check(self, "max_iter", "be a whole number of at least 1", is_whole(self.max_iter))

    def check_task(self, *, classifies: bool) -> None:
        if classifies:
            raise ValueError("model: 'huber' is for numbers; PGSClassifier takes 'linear'")

    def train(self, X: Any, target: Target, seed: int) -> TrainedModel:
        linear = Linear(alpha=self.alpha, scaling=self.scaling)
        counted, weight = target.weights > 0, target.weights
        model = linear.train(X, target, seed)
        said = model.predict(X)
        for _ in range(self.max_iter - 1):
            off = np.abs(target.values - said)
            s = NORMAL * float(np.median(off[counted]))
            if not s:  # more than half of the rows lie on a plane
                break
            heard = weight * np.minimum(1, self.cutoff * s / np.maximum(off, 1e-12 * s))
            model, before = linear.train(X, replace(target, weight=heard), seed), said
            said = model.predict(X)
            if np.abs(said - before).max() <= SETTLED * s:
                break
        return model

    def cost(self, n: int, d: int, k: int) -> float:
        return 10 * Linear().cost(n, d, k)
