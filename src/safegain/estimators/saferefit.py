"""SafeRefit: scikit-learn's conventions around the refit of an estimator that the user brings."""

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from safegain.certificates.certificate import Certificate
from safegain.certificates.claims import Certify, parameter_and_method
from safegain.certificates.comparison import certify
from safegain.data.checks import check_groups, check_trained_on, unchanged_on_failure
from safegain.data.labels import Labels, classification_labels, regression_labels
from safegain.data.splits import drawn_from, rank_rows, trusted_rows
from safegain.estimators.issues import issues, other_classes, shifted_numbers
from safegain.search.auto_classes import REFERENCES
from safegain.search.corrections import CorrectedClasses, CorrectedNumbers, Correction
from safegain.search.refitting import Contest, distribution, seeded


class SafeRefit(MetaEstimatorMixin, BaseEstimator):
    """Train any classifier or regressor on weak labels and a few trusted rows, or hand back what it would have been.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from safegain import SafeRefit
    >>> X, y = load_digits(return_X_y=True)
    >>> trusted = np.arange(len(y)) < 300
    >>> wrong = ~trusted & (np.random.RandomState(0).rand(len(y)) < 0.4)
    >>> noisy = np.where(wrong, (y + 1) % 10, y)
    >>> model = SafeRefit(LogisticRegression(max_iter=200), random_state=0).fit(X / 16, noisy, trusted=trusted)
    >>> model.reference_, model.safeness_.fell_back
    ('trusted', False)

    Parameters
    ----------
    estimator : classifier or regressor
        What is trained. It is given rows of X as they are. If its `fit` takes no `sample_weight`, it is given the rows
        that are more likely right than not, with their likeliest label.
    reference : {"best", "raw", "raw+trusted", "trusted"}, default="best"
        What the refit must not be worse than, and what is handed back if it is: the estimator on the weak rows, on weak
        and trusted rows, or on trusted rows alone, with labels as given; or the best of these on held-out rows.
    certify : float, Certify or None, default=None
        Sets trusted rows aside before anything sees them, and hands the refit over only if these certify at this level
        that it is not worse than the reference.
    features : transformer, callable or None, default=None
        What makes rows of numbers for the fast head. None takes the transformers of a pipeline, fitted on the weak
        rows, and else X itself, where missing values are filled with the column's mean.
    validation_fraction : float, default=0.2
        Labelled rows that are held out and taken as trusted when `fit` is given no trusted rows.
    selection_fraction : float, default=0.5
        Trusted rows kept for the comparison; if these are fewer than 20, there is none, and the reference is handed
        back.
    random_state : int, RandomState or None, default=None
        Everything random follows from it, and so does every `random_state=None` of the estimator.

    Attributes
    ----------
    estimator_, reference_estimator_ : fitted estimators
        The one that predicts and the reference; one and the same after a fall back.
    reference_ : str
        How the reference was trained: "raw", "raw+trusted" or "trusted".
    sample_weight_ : ndarray (n,)
        How far each row is trusted; 1 for trusted rows.
    label_distribution_ : ndarray (n, k)
        Of a classifier: the distribution over `classes_` of each row; one-hot for trusted rows.
    label_shift_ : ndarray (n,)
        Of a regressor: what was added to each label.
    corrected_labels_ : ndarray (n,)
        What each label should have been.
    safeness_ : SafenessReport
        How the refit compares with the reference on the held-out rows; `status` is the outcome as a sentence.
    certificate_ : Certificate or None
    trusted_, held_out_, set_aside_ : ndarray (n,) of bool
        Trusted rows; those of them in the comparison; those that only the certificate has seen.
    classes_ : ndarray (k,)
        Of a classifier.
    n_features_in_, feature_names_in_
        Where X has columns, and names for them.
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"])],
        "reference": [StrOptions({"best", *REFERENCES})],
        "certify": [Interval(Real, 0, 1, closed="neither"), Certify, None],
        "features": [HasMethods(["fit", "transform"]), callable, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "selection_fraction": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        reference: str = "best",
        certify: float | Certify | None = None,
        features: Any = None,
        validation_fraction: float = 0.2,
        selection_fraction: float = 0.5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.reference = reference
        self.certify = certify
        self.features = features
        self.validation_fraction = validation_fraction
        self.selection_fraction = selection_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, trusted: Any = None, groups: Any = None) -> Self:
        """Learn how far to trust each row and what its label should have been, and train the estimator on that.

        Parameters
        ----------
        X : rows (n, ...) of any kind that the estimator takes
        y : labels (n,)
            A row without a label has NaN or None; among integer classes also -1, unless the classes are -1 and 1.
        trusted : boolean mask over the rows, or row numbers
            The rows whose label is right; a mask where rows are sliced, as in cross-validation. None holds out
            `validation_fraction` of the labelled rows.
        groups : array (n,), optional
            The group of each row: splits are stratified by it, and `Certify(per_group=True)` makes a claim for each.
        """
        with unchanged_on_failure(self):
            return self._fit(X, y, trusted, groups)

    def _fit(self, X: Any, y: Any, trusted: Any, groups: Any) -> Self:
        self._validate_params()
        random = check_random_state(self.random_state)
        labels = self._labels_of(y)
        validate_data(self, X, skip_check_array=True)
        (X,) = indexable(X)
        if len(labels) != _num_samples(X):
            raise ValueError(f"y: has {len(labels)} labels and X has {_num_samples(X)} rows; they must agree")
        mask = trusted_rows(trusted, labels, self.validation_fraction, random)
        groups = check_groups(groups, len(labels))
        setting = Certify.of(self.__dict__["certify"])
        aside = np.zeros_like(mask) if setting is None else setting.draw(mask, labels, groups, random)
        check_trained_on(labels, mask)
        held = drawn_from(mask & ~aside, labels, groups, self.selection_fraction, random, draw=rank_rows)

        used = np.flatnonzero(~aside)
        contest = Contest(seeded(self.estimator, random), _safe_indexing(X, used), labels[used], mask[used], held[used])
        result = contest.run(self.reference, self.features, random)
        self.certificate_ = None
        self._clip = None if labels.classes is not None else float(np.ptp(labels.given[mask & ~aside])) or labels.scale
        if setting is not None:
            self.certificate_ = certify(
                result.new,
                result.reference,
                _safe_indexing(X, np.flatnonzero(aside)),
                labels.values[aside],
                **self._claims(setting.settings()),
                groups=groups[aside] if setting.per_group and groups is not None else None,
            )
            result = result.unless_refused(self.certificate_)
        self.estimator_, self.reference_estimator_ = result.new, result.reference
        self.reference_, self.safeness_ = result.reference_name, result.safeness
        self.trusted_, self.held_out_, self.set_aside_, self._labels = mask, held, aside, labels
        self._store_correction(X, used, result.correction)
        return self

    def _labels_of(self, y: Any) -> Labels:
        if is_classifier(self.estimator):
            return classification_labels(y)
        if is_regressor(self.estimator):
            return regression_labels(y)
        raise ValueError(f"estimator: must be a classifier or a regressor, got {self.estimator!r}")

    def _store_correction(self, X: Any, used: np.ndarray, found: Correction | None) -> None:
        """The correction for all rows; where there is none, labels as given, and predictions for rows without one."""
        labels = self._labels
        bare = np.flatnonzero(~labels.labelled)
        self.sample_weight_ = labels.labelled.astype(float)
        if labels.classes is not None:
            self.classes_ = labels.classes
            self.label_distribution_ = np.eye(len(labels.classes))[labels.numbers]
            if isinstance(found, CorrectedClasses):
                self.label_distribution_[used] = found.Q
            elif len(bare):
                self.label_distribution_[bare] = distribution(self.estimator_, _safe_indexing(X, bare), labels.classes)
            self.corrected_labels_ = labels.classes[self.label_distribution_.argmax(axis=1)]
        else:
            self.label_shift_, self.corrected_labels_ = np.zeros(len(labels)), labels.given.copy()
            if isinstance(found, CorrectedNumbers):
                self.label_shift_[used], self.corrected_labels_[used] = found.shift, found.labels
            elif len(bare):
                self.corrected_labels_[bare] = self.estimator_.predict(_safe_indexing(X, bare))
        if found is not None:
            self.sample_weight_[used] = found.weight

    def label_issues(self) -> pd.DataFrame:
        """The labelled weak rows that were corrected, most suspicious first.

        Columns: row (its number in the X of `fit`), given, suggested (the most likely other label), confidence (in
        the suggested one, in [0, 1]), weight. Suspicion is one minus the row's weight times what is left of its label.
        """
        check_is_fitted(self)
        if self._labels.classes is not None:
            other = other_classes(self._labels, self.label_distribution_)
        else:
            other = shifted_numbers(self._labels, self.label_shift_, self.corrected_labels_)
        return issues(self._labels, self.trusted_, self.sample_weight_, other)

    @parameter_and_method
    def certify(self, X: Any, y: Any, **settings: Any) -> Certificate:
        """Test on fresh trusted rows whether the model that predicts is not worse than its reference.

        Takes the arguments of `safegain.certify`, for rows that had no part in the fit.
        """
        check_is_fitted(self)
        return certify(self.estimator_, self.reference_estimator_, X, y, **self._claims(settings))

    def _claims(self, settings: dict[str, Any]) -> dict[str, Any]:
        """For a regressor errors count up to the range of the trusted labels, unless the user says otherwise."""
        return {**settings, "clip": self._clip if settings.get("clip") is None else settings["clip"]}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments, and those of the estimator."""
        return {**super().get_params(deep), "certify": self.__dict__["certify"]}

    def predict(self, X: Any) -> np.ndarray:
        """What the chosen model says of the rows of X."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the rows of X, in the order of `classes_`."""
        check_is_fitted(self)
        return distribution(self.estimator_, X, self.classes_)

    def score(self, X: Any, y: Any) -> float:
        """The chosen model's own score: accuracy or R^2, as a rule."""
        check_is_fitted(self)
        return self.estimator_.score(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.regressor_tags = inner.regressor_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags = replace(inner.classifier_tags, multi_label=False)
        tags.input_tags = inner.input_tags
        tags.target_tags = replace(inner.target_tags, required=True, multi_output=False, single_output=True)
        return tags
