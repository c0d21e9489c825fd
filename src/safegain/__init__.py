"""Learn from labels that cannot be trusted: gain what can be gained, and never end up worse than before."""

from importlib.metadata import version

from safegain.bounded_losses import BoundedLoss
from safegain.certificate import Certificate
from safegain.certifying import Certify
from safegain.comparison import certify, certify_in_order
from safegain.crossfit import certify_by_crossfit
from safegain.estimators import PGSClassifier, PGSRegressor
from safegain.hypergradient import Cholesky, ConjugateGradient, Neumann, Unrolled
from safegain.parquet import ParquetRows
from safegain.power import required_trusted
from safegain.recipe import Recipe
from safegain.safeness import AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
from safegain.saferefit import SafeRefit
from safegain.stack import stack

__version__ = version("safegain")

__all__ = [
    "AllOf",
    "Bootstrap",
    "BoundedLoss",
    "Certificate",
    "Certify",
    "Cholesky",
    "ConjugateGradient",
    "MultiMeasure",
    "Neumann",
    "PGSClassifier",
    "PGSRegressor",
    "ParquetRows",
    "PerClass",
    "PerGroup",
    "PerView",
    "Recipe",
    "SafeRefit",
    "Unrolled",
    "certify",
    "certify_by_crossfit",
    "certify_in_order",
    "required_trusted",
    "stack",
]
