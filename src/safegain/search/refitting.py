"""An estimator of the user's on corrected labels, if trusted rows say that it is not worse for that.

    references  the estimator on the weak rows' labels, on weak and trusted rows, on trusted rows alone
    correction  what a fast head says of the rows (corrections.py)
    refit       the estimator on corrected weak rows and on trusted rows
    comparison  of refit and references on held-out trusted rows that had no part in either

Where the refit wins, it is done once more with the held-out rows. A reference is trained once more with them too: that
is what the user would have had, and what a certificate should compare with.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from safegain.bilevel.selection import SafenessReport, SetMargin
from safegain.certificates.certificate import Certificate
from safegain.data.labels import Labels
from safegain.data.splits import ENOUGH
from safegain.search.auto_classes import REFERENCES, Standing
from safegain.search.corrections import ClassHead, Correction, FastHead, NumberHead, TrainingSet, numeric_rows

SMOOTHING = 0.01  # of class probabilities before their logarithm: trees may give 0 to the class that it is


@dataclass(frozen=True)
class Refitted:
    new: Any
    reference: Any  # the same as `new` after a fall back
    reference_name: str
    correction: Correction | None  # that `new` was trained on
    safeness: SafenessReport

    def unless_refused(self, certificate: Certificate) -> "Refitted":
        """The reference as the new model, where the certificate is not given."""
        if certificate.certified or self.new is self.reference:
            return self
        status = f"Fell back to the reference, trained on {self.reference_name} rows. {certificate.sentence}"
        return replace(self, new=self.reference, correction=None, safeness=self.safeness.fallen_back(status))


@dataclass(frozen=True)
class Contest:
    """One estimator and the rows that it may learn from."""

    estimator: Any
    X: Any
    labels: Labels
    trusted: np.ndarray  # (n,) bool
    held: np.ndarray  # (n,) bool, some of the trusted rows

    def run(self, reference: str, features: Any, random: np.random.RandomState) -> Refitted:
        rows = numeric_rows(self.X, self.labels, self.trusted, self.estimator, features)
        search = self.trusted & ~self.held
        if min(self.held.sum(), search.sum()) < ENOUGH:
            few = f"{int(self.trusted.sum())} trusted rows are too few to compare models on some of them"
            return self._fall_back("raw+trusted" if reference == "best" else reference, None, few)

        models = {name: self._on_labels(name, search) for name in self._rivals(reference, search)}
        standings = {name: self._standing(model) for name, model in models.items()}
        kept = min(standings, key=lambda name: standings[name].loss)
        head, old = self._head(rows, reference, random), standings[kept]
        if (correction := head.without_held_rows()) is None:
            return self._fall_back(kept, old, "there was nothing to correct that trusted rows would gain from")
        new = self._standing(self._on_correction(correction, ~self.held))
        measure = self._measure(models[kept])
        compared = f"{measure} {new.loss:.4g} against {old.loss:.4g} on {len(old.losses)} held-out trusted rows"
        if not old.gives_way_to(new) or (correction := head.with_all_rows()) is None:
            return self._fall_back(kept, old, f"the refit was not better ({compared})")

        verdict = "better than" if new.loss < old.loss else "not worse, chance aside, than"
        hint = "This is a comparison on the rows at hand, not a certificate."
        status = f"Safe: {verdict} the reference, trained on {kept} rows, with {compared}. {hint}"
        sets = (SetMargin("held-out rows", old.loss, new.loss, old.loss - new.loss),)
        refit = self._on_correction(correction, np.ones_like(self.held))
        return Refitted(
            refit, self._on_labels(kept, self.trusted), kept, correction, SafenessReport(False, 1, sets, status)
        )

    def _fall_back(self, kept: str, old: Standing | None, reason: str) -> Refitted:
        model = self._on_labels(kept, self.trusted)
        sets = () if old is None else (SetMargin("held-out rows", old.loss, old.loss, 0.0),)
        status = f"Fell back: {reason}, so this is the reference, trained on {kept} rows."
        return Refitted(model, model, kept, None, SafenessReport(True, None, sets, status))

    def _rivals(self, reference: str, search: np.ndarray) -> tuple[str, ...]:
        """References that are trained; trusted rows of one class cannot be trained on alone."""
        alone = self.labels.classes is None or len(np.unique(self.labels.numbers[search])) > 1
        if reference == "trusted" and not alone:
            raise ValueError("reference: the trusted rows are of one class, so no model can be trained on them alone")
        if reference != "best":
            return (reference,)
        return REFERENCES if alone else REFERENCES[:2]

    def _on_labels(self, name: str, trusted: np.ndarray) -> Any:
        """The reference of that name, with these of the trusted rows."""
        weak = self.labels.labelled & ~self.trusted
        mask = {"raw": weak, "raw+trusted": weak | trusted, "trusted": trusted}[name]
        rows = np.flatnonzero(mask)
        return self._train(TrainingSet(rows, self.labels.values[rows]))

    def _on_correction(self, correction: Correction, mask: np.ndarray) -> Any:
        weighted = weight_parameter(self.estimator) is not None
        return self._train(correction.training_set(np.flatnonzero(mask), weighted=weighted))

    def _train(self, part: TrainingSet) -> Any:
        name = weight_parameter(self.estimator)
        weights = {} if name is None or part.weights is None else {name: part.weights}
        # Routing would ask for requests that the user has no reason to set; without it, a step's name will do.
        with config_context(enable_metadata_routing=False):
            return clone(self.estimator).fit(_safe_indexing(self.X, part.rows), part.labels, **weights)

    def _head(self, rows: Any, reference: str, random: np.random.RandomState) -> FastHead:
        if self.labels.classes is not None:
            return ClassHead(rows, self.labels, self.trusted, self.held, random)
        return NumberHead(rows, self.labels, self.trusted, self.held, reference, random.randint(2**31))

    def _standing(self, model: Any) -> Standing:
        """On the held-out rows: log-loss where there are probabilities, else mistakes; for numbers squared errors."""
        rows = np.flatnonzero(self.held)
        X, y = _safe_indexing(self.X, rows), self.labels.values[rows]
        if self.labels.classes is None:
            squared = torch.from_numpy(np.square(np.asarray(model.predict(X), dtype=float) - y))
            return Standing(squared, torch.zeros(len(rows), dtype=torch.bool))
        wrong = torch.from_numpy(np.asarray(model.predict(X) != y))
        if not hasattr(model, "predict_proba"):
            return Standing(wrong.double(), wrong)
        P = distribution(model, X, self.labels.classes)
        z = np.log((1 - SMOOTHING) * P + SMOOTHING / P.shape[1])
        return replace(Standing.of(torch.from_numpy(z), torch.from_numpy(self.labels.numbers[rows])), wrong=wrong)

    def _measure(self, model: Any) -> str:
        if self.labels.classes is None:
            return "mean squared error"
        return "log-loss" if hasattr(model, "predict_proba") else "share of mistakes"


def distribution(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Probabilities of all classes, also of those that the model has not seen; 0 or 1 if it gives none  # (n, k)"""
    if not hasattr(model, "predict_proba"):
        return (np.asarray(model.predict(X))[:, None] == classes).astype(float)
    P = np.zeros((len(found := np.asarray(model.predict_proba(X))), len(classes)))
    P[:, np.searchsorted(classes, model.classes_)] = found
    return P


def weight_parameter(estimator: Any) -> str | None:
    """By what name its `fit` takes row weights: a pipeline hands them to its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """A copy in which every random_state=None is a number: all that is trained starts from the same one."""
    names = [name for name in sorted(estimator.get_params()) if name.split("__")[-1] == "random_state"]
    unset = [name for name in names if estimator.get_params()[name] is None]
    return clone(estimator).set_params(**{name: random.randint(2**31) for name in unset})
