"""Learn from labels that cannot be trusted: compare with what you would have had, and prove it on request."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
    from safegain.bilevel.safeness import AllOf, Bootstrap, MultiMeasure, PerClass, PerGroup, PerView
    from safegain.bilevel.solvers import ClosedForm, Descent, Newton
    from safegain.bilevel.unrolled import Unrolled
    from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, OneCycleAdamW, RMSProp
    from safegain.certificates.bounded_losses import BoundedLoss
    from safegain.certificates.certificate import Certificate
    from safegain.certificates.claims import Claims
    from safegain.certificates.comparison import certify, certify_in_order
    from safegain.certificates.ledger import Ledger
    from safegain.certificates.power import required_trusted
    from safegain.certificates.stream import certify_stream
    from safegain.certificates.training import compare_training
    from safegain.data.parquet import ParquetRows
    from safegain.data.stacking import stack
    from safegain.estimators import PGSClassifier, PGSRegressor
    from safegain.learners.boosting import Boosting
    from safegain.learners.deep_network import DeepNetwork
    from safegain.learners.forest import Forest
    from safegain.learners.huber import Huber
    from safegain.learners.kernel_machine import KernelMachine
    from safegain.learners.linear import Linear
    from safegain.learners.module import Module
    from safegain.learners.network import Network
    from safegain.learners.recipe import Recipe
    from safegain.learners.reshaped import Reshaped
    from safegain.learners.several import Several
    from safegain.learners.wrapped import Wrapped
    from safegain.runs.loading import load
    from safegain.runs.saving import save
    from safegain.search.auto import Auto
    from safegain.search.free import Free
    from safegain.search.residuals import Residuals
    from safegain.search.structured import Structured

# Where each name lives. A name is imported when it is first used: `safegain --help` has no need of torch.
_HOME = {
    "Adam": "bilevel.update_rules",
    "AllOf": "bilevel.safeness",
    "Auto": "search.auto",
    "Bootstrap": "bilevel.safeness",
    "Boosting": "learners.boosting",
    "BoundedLoss": "certificates.bounded_losses",
    "Certificate": "certificates.certificate",
    "Cholesky": "bilevel.implicit",
    "Claims": "certificates.claims",
    "ClosedForm": "bilevel.solvers",
    "ConjugateGradient": "bilevel.implicit",
    "DeepNetwork": "learners.deep_network",
    "Descent": "bilevel.solvers",
    "Forest": "learners.forest",
    "Free": "search.free",
    "GradientDescent": "bilevel.update_rules",
    "Huber": "learners.huber",
    "KernelMachine": "learners.kernel_machine",
    "Several": "learners.several",
    "Ledger": "certificates.ledger",
    "Linear": "learners.linear",
    "Module": "learners.module",
    "Momentum": "bilevel.update_rules",
    "MultiMeasure": "bilevel.safeness",
    "Network": "learners.network",
    "Neumann": "bilevel.implicit",
    "Newton": "bilevel.solvers",
    "OneCycleAdamW": "bilevel.update_rules",
    "PGSClassifier": "estimators",
    "PGSRegressor": "estimators",
    "ParquetRows": "data.parquet",
    "PerClass": "bilevel.safeness",
    "PerGroup": "bilevel.safeness",
    "PerView": "bilevel.safeness",
    "RMSProp": "bilevel.update_rules",
    "Recipe": "learners.recipe",
    "Reshaped": "learners.reshaped",
    "Residuals": "search.residuals",
    "Structured": "search.structured",
    "Unrolled": "bilevel.unrolled",
    "Wrapped": "learners.wrapped",
    "certify": "certificates.comparison",
    "compare_training": "certificates.training",
    "certify_in_order": "certificates.comparison",
    "certify_stream": "certificates.stream",
    "load": "runs.loading",
    "required_trusted": "certificates.power",
    "save": "runs.saving",
    "stack": "data.stacking",
}

__all__ = [
    "Adam",
    "AllOf",
    "Auto",
    "Boosting",
    "Bootstrap",
    "BoundedLoss",
    "Certificate",
    "Cholesky",
    "Claims",
    "ClosedForm",
    "ConjugateGradient",
    "DeepNetwork",
    "Descent",
    "Forest",
    "Free",
    "GradientDescent",
    "Huber",
    "KernelMachine",
    "Ledger",
    "Linear",
    "Module",
    "Momentum",
    "MultiMeasure",
    "Network",
    "Neumann",
    "Newton",
    "OneCycleAdamW",
    "PGSClassifier",
    "PGSRegressor",
    "ParquetRows",
    "PerClass",
    "PerGroup",
    "PerView",
    "RMSProp",
    "Recipe",
    "Reshaped",
    "Residuals",
    "Several",
    "Structured",
    "Unrolled",
    "Wrapped",
    "certify",
    "certify_in_order",
    "certify_stream",
    "compare_training",
    "load",
    "required_trusted",
    "save",
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
