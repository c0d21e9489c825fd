"""Learn from labels that cannot be trusted: gain what can be gained, and never end up worse than before."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safegain.bilevel.hypergradient import Cholesky, ConjugateGradient, Neumann, Unrolled
    from safegain.bilevel.safeness import AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
    from safegain.certificates.bounded_losses import BoundedLoss
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.claims import Certify
    from safegain.certificates.comparison import certify, certify_in_order
    from safegain.certificates.crossfit import certify_by_crossfit
    from safegain.certificates.power import required_trusted
    from safegain.data.parquet import ParquetRows
    from safegain.data.stacking import stack
    from safegain.estimators.classes import PGSClassifier, PGSRegressor
    from safegain.estimators.saferefit import SafeRefit
    from safegain.learners.recipe import Recipe
    from safegain.runs.loading import load

# Where each name lives. A name is imported when it is first used: `safegain --help` has no need of torch.
_HOME = {
    "AllOf": "bilevel.safeness",
    "Bootstrap": "bilevel.safeness",
    "BoundedLoss": "certificates.bounded_losses",
    "Certificate": "certificates.certificate",
    "Certify": "certificates.claims",
    "Cholesky": "bilevel.hypergradient",
    "ConjugateGradient": "bilevel.hypergradient",
    "MultiMeasure": "bilevel.safeness",
    "Neumann": "bilevel.hypergradient",
    "PGSClassifier": "estimators.classes",
    "PGSRegressor": "estimators.classes",
    "ParquetRows": "data.parquet",
    "PerClass": "bilevel.safeness",
    "PerGroup": "bilevel.safeness",
    "PerView": "bilevel.safeness",
    "Recipe": "learners.recipe",
    "SafeRefit": "estimators.saferefit",
    "Unrolled": "bilevel.hypergradient",
    "certify": "certificates.comparison",
    "certify_by_crossfit": "certificates.crossfit",
    "certify_in_order": "certificates.comparison",
    "load": "runs.loading",
    "required_trusted": "certificates.power",
    "stack": "data.stacking",
}

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
    "load",
    "required_trusted",
    "stack",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("safegain")
    if name not in _HOME:
        raise AttributeError(f"module 'safegain' has no attribute {name!r}")
    value = getattr(import_module(f"safegain.{_HOME[name]}"), name)
    globals()[name] = value  # found at once the next time
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
