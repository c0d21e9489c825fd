"""All tables and figures, in the order of the page."""

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

MODULES = (
    "tables.table_mnist_noise",
    "tables.table_mnist_ssl",
    "tables.table_cifar_noise",
    "tables.table_cifar_ssl",
    "tables.table_cifar10n",
    "tables.table_regression_noise",
    "tables.table_regression_ssl",
    "tables.table_correction",
    "figures.figure_validation_size",
    "figures.figure_iterations",
    "figures.figure_convergence",
    "figures.figure_motivation",
)


def artefacts(only: Iterable[str] = ()) -> list[ModuleType]:
    """The artefacts of these names; all of them if none is named."""
    known = {module.NAME: module for module in (import_module(f"experiments.{name}") for name in MODULES)}
    names = list(only) or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"only: there is no {unknown[0]!r}; choose from {', '.join(known)}")
    return [module for name, module in known.items() if name in names]


def is_table(artefact: ModuleType) -> bool:
    return artefact.NAME.startswith("table-")
