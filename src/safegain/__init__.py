"""Learn from labels that cannot be trusted: gain what can be gained, and never end up worse than before."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from safegain.runs.loading import load
    from safegain.safeness import AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
    from safegain.saferefit import SafeRefit
    from safegain.stacking import stack

# Where each name lives. A name is imported when it is first used: `safegain --help` has no need of torch.
_HOME = {
    "AllOf": "safeness",
    "Bootstrap": "safeness",
    "BoundedLoss": "bounded_losses",
    "Certificate": "certificate",
    "Certify": "certifying",
    "Cholesky": "hypergradient",
    "ConjugateGradient": "hypergradient",
    "MultiMeasure": "safeness",
    "Neumann": "hypergradient",
    "PGSClassifier": "estimators",
    "PGSRegressor": "estimators",
    "ParquetRows": "parquet",
    "PerClass": "safeness",
    "PerGroup": "safeness",
    "PerView": "safeness",
    "Recipe": "recipe",
    "SafeRefit": "saferefit",
    "Unrolled": "hypergradient",
    "certify": "comparison",
    "certify_by_crossfit": "crossfit",
    "certify_in_order": "comparison",
    "load": "runs.loading",
    "required_trusted": "power",
    "stack": "stacking",
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
