"""The constructor arguments of both estimators: from what a user writes to learners, searches and claims."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from safegain.bilevel.safeness import Safeness
from safegain.data.devices import DEVICES
from safegain.data.settings import Settings, changed, owns, refusing_misplaced
from safegain.learners.base import Learner
from safegain.learners.linear import Linear
from safegain.learners.module import Module
from safegain.learners.several import Several
from safegain.learners.wrapped import Wrapped
from safegain.search.base import Search
from safegain.search.references import BEST, REFERENCES

if TYPE_CHECKING:
    from safegain.certificates.claims import Claims

LEARNERS = {  # found in modules of the names on the right; one is imported when it is first asked for
    "network": ("network", "Network"),
    "linear": ("linear", "Linear"),
    "forest": ("forest", "Forest"),
    "boosting": ("boosting", "Boosting"),
    "kernel": ("kernel_machine", "KernelMachine"),
    "deep": ("deep_network", "DeepNetwork"),
    "huber": ("huber", "Huber"),
}
# Where they are equal, the first is taken.
CLASS_FAMILIES = ("forest", "kernel", "boosting", "deep", "network", "linear")
NUMBER_FAMILIES = ("boosting", "forest", "kernel", "deep", "huber", "linear")
SEARCHES = {  # found in modules of their names
    "auto": "Auto",
    "free": "Free",
    "structured": "Structured",
    "residuals": "Residuals",
}
_OBJECTS = ("model", "search", "safeness", "certificate")  # arguments that hold settings


class Parameters(BaseEstimator):
    _classifies: ClassVar[bool]
    _parameter_constraints: ClassVar[dict] = {
        "model": "no_validation",  # learner_of says more
        "search": "no_validation",  # and search_of
        "reference": [StrOptions({BEST, *REFERENCES})],
        "safeness": [Safeness, None],
        "certificate": [Interval(Real, 0, 1, closed="neither"), Settings, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "device": [StrOptions(set(DEVICES))],
        "checkpoint": [str, os.PathLike, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    @refusing_misplaced
    def __init__(
        self,
        model: Any = "auto",
        *,
        search: str | Search = "auto",
        reference: str = "best",
        safeness: Safeness | None = None,
        certificate: "float | Claims | None" = None,
        validation_fraction: float = 0.2,
        device: str = "auto",
        checkpoint: str | os.PathLike | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.search = search
        self.reference = reference
        self.safeness = safeness
        self.certificate = certificate
        self.validation_fraction = validation_fraction
        self.device = device
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def check_params(self) -> None:
        """A ValueError where an argument is wrong, or where search, model and task do not go together."""
        self._validate_params()
        self._checked(n_processes=1)

    def _checked(self, *, n_processes: int) -> tuple[Learner, Search]:
        learner, search = self._learner, search_of(self.search)
        search.check_learner(learner, classifies=self._classifies, n_processes=n_processes, given=self.model)
        if self.device in ("cuda", "mps") and not search.contests:
            raise ValueError(
                f"device: search={search.name!r} computes on the processor, got {self.device!r}; use search='auto', or "
                "leave device out"
            )
        return learner, search

    @property
    def streams(self) -> bool:
        """Whether `fit` reads rows from a file in blocks, and never has all of them in memory."""
        return search_of(self.search).name == "free" and isinstance(self._learner, Linear)

    def set_params(self, **params: Any) -> Self:
        """Set arguments, and with outer__inner the settings of a search, a learner or claims, also of a named one.

        Settings are values: a new one takes the place of the old.
        """
        nested: dict[str, dict[str, Any]] = {}
        for key in [key for key in params if key.partition("__")[0] in _OBJECTS and "__" in key]:
            outer, _, inner = key.partition("__")
            nested.setdefault(outer, {})[inner] = params.pop(key)
        super().set_params(**params)
        for name, values in nested.items():
            setattr(self, name, changed(name, self._object(name), values))
        return self

    def _object(self, name: str) -> Any:
        if name == "search":
            return search_of(self.search)
        if name == "certificate":
            return claims_of(0.05 if self.certificate is None else self.certificate)
        if name == "safeness":
            return self.safeness
        return self.model if hasattr(self.model, "set_params") else self._learner

    @property
    def _learner(self) -> Learner:
        return learner_of(self.model, classifies=self._classifies, search=search_of(self.search))


owns("the estimators, PGSClassifier and PGSRegressor", Parameters().get_params(deep=False))


def learner_of(model: Any, *, classifies: bool, search: Search) -> Learner:
    """A name, a learner, a module, an estimator, or a list of these.

    "auto" is one of each family where the search holds a contest; else a network for classes, and linear for numbers.
    """
    learner: Learner
    if isinstance(model, list | tuple):
        if not model:
            raise ValueError("model: the list is empty; name at least one learner")
        learner = Several([learner_of(each, classifies=classifies, search=search) for each in model])
        learner.check_task(classifies=classifies)
        return learner
    if isinstance(model, str):
        if model == "auto" and search.contests:
            families = CLASS_FAMILIES if classifies else NUMBER_FAMILIES
            return Several([named_learner(name) for name in families], only_fitting=True)
        name = ("network" if classifies else "linear") if model == "auto" else model
        if name not in LEARNERS:
            raise ValueError(
                f"model: {model!r} is not known; give one of auto, {', '.join(LEARNERS)}, a learner such as "
                "Network(n_hidden=50), a torch.nn.Module, a scikit-learn estimator, or a list of these"
            )
        learner = named_learner(name)
    elif isinstance(model, Learner):
        learner = model
    elif isinstance(model, torch.nn.Module):
        learner = Module(model)
    elif hasattr(model, "fit") and hasattr(model, "predict") and not isinstance(model, type):
        learner = Wrapped(model)
    else:
        raise ValueError(
            f"model: must be one of auto, {', '.join(LEARNERS)}, a learner, a torch.nn.Module, a scikit-learn "
            f"estimator, or a list of these, got {model!r}"
        )
    learner.check_task(classifies=classifies)
    return learner


@cache
def named_learner(name: str) -> Learner:
    module, kind = LEARNERS[name]
    return getattr(import_module(f"safegain.learners.{module}"), kind)()


def search_of(search: Any) -> Search:
    """A search, or the name of one, which is imported when it is first asked for."""
    if isinstance(search, Search):
        return search
    if isinstance(search, str) and search in SEARCHES:
        return _named_search(search)
    raise ValueError(
        f"search: must be one of {', '.join(SEARCHES)}, or an object such as Free(n_outer=50), got {search!r}"
    )


@cache
def _named_search(name: str) -> Search:
    return getattr(import_module(f"safegain.search.{name}"), SEARCHES[name])()


def claims_of(certificate: "float | Claims") -> "Claims":
    """What the argument `certificate` says; a number is delta."""
    from safegain.certificates.claims import Claims

    if isinstance(certificate, Settings) and not isinstance(certificate, Claims):
        raise ValueError(f"certificate: must be a level such as 0.05, or Claims(...), got {certificate!r}")
    return Claims.at(certificate)


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
