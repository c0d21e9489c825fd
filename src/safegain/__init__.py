"""Learn from labels that cannot be trusted: gain what can be gained, and never end up worse than before."""

from importlib.metadata import version

from safegain.estimators import PGSClassifier, PGSRegressor
from safegain.hypergradient import Cholesky, ConjugateGradient, Neumann, Unrolled
from safegain.safeness import AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
from safegain.stack import stack

__version__ = version("safegain")

__all__ = [
    "AllOf",
    "Bootstrap",
    "Cholesky",
    "ConjugateGradient",
    "MultiMeasure",
    "Neumann",
    "PGSClassifier",
    "PGSRegressor",
    "PerClass",
    "PerGroup",
    "PerView",
    "Unrolled",
    "stack",
]
