"""The constructor arguments of both estimators, and how scikit-learn reaches into those that are objects."""

import os
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from safegain.bilevel.safeness import Safeness
from safegain.certificates.claims import Claims
from safegain.data.settings import changed, owns, refusing_misplaced
from safegain.learners.base import Learner
from safegain.learners.linear import Linear
from safegain.learners.names import learner_of
from safegain.search.base import Search
from safegain.search.free import Free
from safegain.search.names import search_of
from safegain.search.references import BEST, REFERENCES


class Parameters(BaseEstimator):
    _classifies: ClassVar[bool]
    _parameter_constraints: ClassVar[dict] = {
        "model": "no_validation",  # learner_of says more
        "search": "no_validation",  # and search_of
        "reference": [StrOptions({BEST, *REFERENCES})],
        "safeness": [Safeness, None],
        "certificate": [Interval(Real, 0, 1, closed="neither"), Claims, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
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
        certificate: float | Claims | None = None,
        validation_fraction: float = 0.2,
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
        self.checkpoint = checkpoint
        self.verbose = verbose
        self.random_state = random_state

    def check_params(self) -> None:
        """A ValueError where an argument is wrong, or where search, model and task do not go together."""
        self._validate_params()
        search_of(self.search).check_learner(self._learner, classifies=self._classifies, n_processes=1)

    @property
    def streams(self) -> bool:
        """Whether `fit` reads rows from a file in blocks, and never has all of them in memory."""
        learner, search = self._learner, search_of(self.search)
        return isinstance(search, Free) and isinstance(learner, Linear)

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
            return Claims.of(self.certificate) or Claims()
        return self.model if hasattr(self.model, "set_params") else self._learner

    @property
    def _learner(self) -> Learner:
        return learner_of(self.model, classifies=self._classifies)


_OBJECTS = ("model", "search", "certificate")
owns("the estimators, PGSClassifier and PGSRegressor", Parameters().get_params(deep=False))
