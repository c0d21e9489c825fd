"""The estimators: what differs between classes and numbers."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from safegain.bilevel.outer_loop import Callback
from safegain.data.checkpoint import Checkpoint
from safegain.data.labels import Labels, classification_labels, regression_labels
from safegain.data.ranks import Ranks
from safegain.data.splits import everywhere
from safegain.data.stages import Watch
from safegain.estimators.base import PGS
from safegain.estimators.issues import Alternatives, other_classes, shifted_numbers
from safegain.search.auto_classes import auto_classification
from safegain.search.auto_numbers import auto_regression
from safegain.search.training import Data, Outcome, Settings, unless_unsafe, upper_level

BLOCK_ROWS = 16_384  # whose labels are stored at a time

_PARAMETERS = """
    Parameters
    ----------
    model : {models} or torch.nn.Module, default="auto"
        What is trained; "auto" is {auto}. A module of your own maps a batch of rows to {outputs}; it
        is copied and starts from the weights that it has. Batch normalisation keeps its statistics; dropout is active
        in the steps of a descent only.
    search_space : {spaces}, default="auto"
        {space_words}
        "free" is the paper's: every weight and every label on its own.
    reference : {{"best", "raw", "raw+trusted", "trusted"}}, default="best"
        What you would have had anyway, and what is handed back where nothing better is found: the model trained on
        the weak labels, on weak and trusted labels, on the trusted labels alone, or the best of the three on trusted
        rows held out.
    certify : float, Certify or None, default=None
        Set trusted rows aside before anything sees them, and hand the new model back only if they show, at this
        level, that it is not worse than the reference. `certify(X, y)`, the method, does it later on fresh rows.
    n_hidden : int or None, default=None
        Hidden units of the two-layer network, "mlp". None is 256 where the recipe trains it, and 100 for a solver.
    recipe : Recipe or None, default=None
        {recipe}
    alpha : float, default=1e-4
        L2 penalty alpha/2 |theta|^2 on weights, not on intercepts and biases.
    scaling : {{"auto", "column", "common", "none"}}, default="auto"
        "column" standardises every column; "common" centres them and divides all by one number; "none" leaves
        them. "auto" is "column" for linear models, "none" for a module, and for "mlp" it is "common" unless the
        columns' scales are more than a hundred times apart.
    solver : {{"auto", "closed-form", "newton", "gd", "momentum", "rmsprop", "adam"}}, default="auto"
        How the lower level is solved{by_recipe}: "auto" is
        "closed-form" for ridge, "newton" for softmax regression, "gd" for all else, and for ridge with more than 1,500
        columns "newton". The next four are for descents only, and `tol` is for "newton" only.
    n_inner : int, default=500
        Steps T of a descent.
    lr_inner : float or None, default=None
        Learning rate of a descent. None is a twelfth of one over the largest curvature of the raw problem at
        the start, a tenth of that for "momentum"; 0.001 for "rmsprop" and 0.01 for "adam".
    batch_size : int or None, default=None
        Rows in a step of a descent; None means all.
    memory_budget : int, default=2**29
        Bytes of inner iterates that the reverse pass of a descent may keep. Where all T do not fit, about 2 sqrt(T) of
        them are kept and each segment between is walked once more.
    tol : float, default=1e-7
        Largest entry of the lower level's gradient at which "newton" stops. Smaller is more exact: the default
        leaves hypergradients an error of a millionth of their size, of a hundred thousandth on nearly separable rows.
    engine : {{"auto", "cholesky", "cg", "neumann", "unrolled", "truncated"}} or Engine, default="auto"
        How hypergradients are computed. "auto" is "unrolled" after a descent; otherwise "cg", but "cholesky" after
        "closed-form" and for a network of at most 1,500 parameters. "truncated" walks back over the last tenth of the
        steps.
    n_outer : int, default=20
        Outer steps L; like the other arguments of the outer loop, up to `penalty`, not asked by "auto".
    lr_outer : float, default=0.06
        Learning rate of the outer Adam.
    safeness : Safeness or None, default=None
        What "not worse" is to mean besides the comparison with the reference; None is Bootstrap(m), and nothing more
        for "auto".
    m : int, default=3
        Bootstrap validation sets when `safeness` is None.
    penalty_weight : float, default=1.0
        The paper's lambda.
    penalty : {{"paper", "hinge"}}, default="paper"
        "paper" adds lambda * max_i [L_i - c_i] to the objective, "hinge" only its positive part.
    eps1 : float or None, default=None
        Least total weight, sum w >= eps1, in rows; None is a tenth of the weak rows.
    eps2 : float or None, default=None
        {eps2}
    validation_fraction : float, default=0.2
        Labelled rows that are held out and taken as trusted when `fit` is given no trusted rows.
    selection_fraction : float or None, default=None
        Trusted rows kept from the search, to rank what it finds; none are kept if these are fewer than 20. None is
        0.5 for "auto" and 0.3 otherwise.
    checkpoint : path or None, default=None
        A folder that the outer loop writes itself to after every step, and "auto" what it has trained after every
        training or fold. A fit of the same rows with the same settings goes on from there, with any number of
        processes, and ends with the same bits if that number is the same; when it ends well, the checkpoint is removed.
        Callbacks are not called again for what is taken up.
    workspace : path or None, default=None
        A folder for files in which the free search keeps w, Q, their moments and their gradient, mapped into memory:
        for more rows than memory holds. They have no names and are gone when they are no longer used.
    callbacks : list of callables or None, default=None
        Each is called with the record and the iterate of every outer step, and stops the search by returning True.
        "auto" for classes has no outer loop, and calls none.
    verbose : int, default=0
        1 shows a progress bar with the time left, over the steps of the outer loop or the stages of "auto".
    random_state : int, RandomState or None, default=None
        Everything random follows from it.

    Attributes
    ----------
    model_, reference_model_, raw_model_ : TrainedModel
        The model that predicts, its reference, and the one trained on the raw labels. After a fall back the first two
        are one and the same.
    reference_ : str
        Which rows the reference was trained on.
    references_ : dict of str to TrainedModel
        Every reference that was trained: "raw", "raw+trusted", "trusted".
    comparison_ : DataFrame
        References and "new" model on trusted rows kept to compare them, before a last training takes those rows in; a
        new model that was refused is there too. One line for each row and model, and none where trusted rows are too
        few. Columns: row (its number in the X of `fit`, counted on over the processes in their order), model, {columns}
    certificate_ : Certificate or None
        What the rows that were set aside say.
    sample_weight_ : ndarray (n,)
        How far each row is trusted; 1 for trusted rows.
    {labels}
    corrected_labels_ : ndarray (n,)
        What each label should have been.
    safeness_ : SafenessReport
        For each validation set its name, raw loss, new loss and margin; `status` is the outcome as a sentence.
    history_ : list of dict
        For each outer step: objective, margins, rank_loss, safe, violation, seconds, and what the engine
        reports.{history}
    n_iter_ : int
        Length of the history, less the start of an outer loop.
    trusted_ : ndarray (n,) of bool
        The rows that were taken as trusted.
    held_out_ : ndarray (n,) of bool
        The trusted rows that were kept from the search, to rank what it finds.
    set_aside_ : ndarray (n,) of bool
        The trusted rows that were kept from everything, for the certificate.
    """


class PGSClassifier(ClassifierMixin, PGS):
    __doc__ = """Classify from weak labels and a few trusted rows, by the best model that is not worse than the raw one.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from safegain import PGSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> trusted = np.arange(len(y)) < 300
    >>> wrong = ~trusted & (np.random.RandomState(0).rand(len(y)) < 0.4)
    >>> noisy = np.where(wrong, (y + 1) % 10, y)
    >>> model = PGSClassifier(random_state=0).fit(X, noisy, trusted=trusted)
    >>> model.reference_, model.safeness_.fell_back
    ('trusted', False)
    """ + _PARAMETERS.format(
        models='{"auto", "softmax", "mlp"}',
        spaces='{"auto", "structured", "free"}',
        space_words="""What is searched. "auto" takes the posterior of each row's class, from kernel evidence and
        a noise matrix, refits the model on it and compares. "structured" is an outer loop over that posterior's few
        unknowns.""",
        recipe="""How "auto" trains the two-layer network; None is Recipe(), which all compared methods share.""",
        by_recipe=' (where the recipe does not train: with "auto", a network and no solver named)',
        history="""

        For "auto": each candidate with its loss and mistakes on the held-out rows.""",
        auto='"mlp", a two-layer network',
        outputs="logits",
        columns="""loss
        (log-loss at the model's best temperature), mistake (bool). The rows are those of `held_out_`. Searches with an
        outer loop compare on all trusted rows where none are held out, and take their last iterate where none was
        safe.""",
        eps2="Largest mean probability moved away from the given labels, in [0, 1]; None is 1, no limit.",
        labels="""label_distribution_ : ndarray (n, k)
        The distribution over `classes_` that each row was trained on; one-hot for trusted rows.
    classes_ : ndarray (k,)""",
    )
    _default_model = "mlp"
    _parameter_constraints: ClassVar[dict] = {
        **PGS._parameter_constraints,
        "model": [StrOptions({"auto", "softmax", "mlp"}), torch.nn.Module],
        "search_space": [StrOptions({"auto", "structured", "free"})],
        "eps2": [Interval(Real, 0, 1, closed="both"), None],
    }

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the rows of X, in the order of `classes_`."""
        check_is_fitted(self)
        return self.model_.predict_proba(self._rows(X, reset=False))

    @property
    def _by_recipe(self) -> bool:
        return self.search_space == "auto" and self._model_name == "mlp" and self.solver == "auto"

    def _auto(
        self,
        data: Data,
        settings: Settings,
        random: np.random.RandomState,
        callbacks: list[Callback],
        unit: float,
        checkpoint: Checkpoint | None,
        watch: Watch | None,
    ) -> Outcome:
        return auto_classification(
            data,
            settings,
            recipe=self._recipe if self._by_recipe else None,
            reference=self.reference,
            safeness=self.safeness,
            random=random,
            checkpoint=checkpoint,
            watch=watch,
        )

    def _claims(self, settings: dict[str, Any]) -> dict[str, Any]:
        return settings

    def _labels_of(self, y: Any, ranks: Ranks) -> Labels:
        return classification_labels(y, ranks)

    def _label_budget(self, n: int, labels: Labels) -> float:
        return 1.0 if self.eps2 is None else self.eps2

    def _store_labels(self, outcome: Outcome) -> None:
        classes, numbers = self._labels.classes, self._labels.numbers
        assert classes is not None
        self.classes_ = classes
        self.label_distribution_ = self._array(len(numbers), len(classes))
        self.label_distribution_[self.trusted_] = np.eye(len(classes))[numbers[self.trusted_]]
        weak, Q = np.flatnonzero(~self.trusted_), outcome.best.point.Q.numpy()
        for first in range(0, len(weak), BLOCK_ROWS):  # numpy would make a copy of Q in double precision
            self.label_distribution_[weak[first : first + BLOCK_ROWS]] = Q[first : first + BLOCK_ROWS]
        # The weight is trust in the label as given: what is left of that label is w Q[given], and another wins by
        # having more. Unlabelled rows have no given label to discount.
        best = np.empty(len(numbers), dtype=np.intp)
        for first in range(0, len(numbers), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            left, given = self.label_distribution_[block].copy(), numbers[block]
            rows = np.flatnonzero(self._labels.labelled[block])
            left[rows, given[rows]] *= self.sample_weight_[block][rows]
            best[block] = left.argmax(axis=1)
        self.corrected_labels_ = classes[best]

    def _alternatives(self) -> Alternatives:
        return other_classes(self._labels, self.label_distribution_)


class PGSRegressor(RegressorMixin, PGS):
    __doc__ = """Regress on weak labels and a few trusted rows, by the best model that is not worse than the raw one.

    >>> from sklearn.datasets import load_diabetes
    >>> from safegain import PGSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PGSRegressor(random_state=0).fit(X, y, trusted=range(100))
    >>> print(model.safeness_.sets[0].name)
    compared trusted rows
    """ + _PARAMETERS.format(
        models='{"auto", "ridge", "mlp"}',
        spaces='{"auto", "free"}',
        space_words="""What is searched. "auto" is a curve of six unknowns from residuals to weights and shifts,
        and a refit on weak and trusted rows together.""",
        recipe="Not used: numbers are fitted by the solver.",
        by_recipe="",
        history="",
        auto='"ridge", regularised least squares',
        outputs="one number",
        columns="""loss
        (squared error, in the units of y). "auto" cross-validates a ridge regression on all trusted rows; otherwise the
        rows are those of `held_out_`, or all trusted rows where none are held out. "free" takes its last iterate where
        none was safe.""",
        eps2="""Largest Euclidean norm of the label shifts, in the units of y; None is one standard deviation of y
        in every row, sqrt(n) sd(y).""",
        labels="""label_shift_ : ndarray (n,)
        What was added to each label; for a row without one, to the raw model's prediction. 0 for trusted rows.""",
    )
    _default_model = "ridge"
    _parameter_constraints: ClassVar[dict] = {
        **PGS._parameter_constraints,
        "model": [StrOptions({"auto", "ridge", "mlp"}), torch.nn.Module],
        "search_space": [StrOptions({"auto", "free"})],
    }

    def _auto(
        self,
        data: Data,
        settings: Settings,
        random: np.random.RandomState,
        callbacks: list[Callback],
        unit: float,
        checkpoint: Checkpoint | None,
        watch: Watch | None,
    ) -> Outcome:
        found = auto_regression(
            data,
            settings,
            reference=self.reference,
            random=random,
            callbacks=callbacks,
            checkpoint=checkpoint,
            watch=watch,
        )
        outcome = found.outcome(unit)
        if self.safeness is None:
            return outcome
        return unless_unsafe(outcome, upper_level(data, settings, self.safeness, random, unit))

    def _claims(self, settings: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in settings.items() if value is not None}
        return {"measures": "squared_error", "clip": self._clip, **given}

    def _usual_clip(self, labels: Labels, trusted: np.ndarray) -> float | None:
        return float(np.ptp(everywhere(labels.given, trusted, labels.ranks))) or labels.scale

    def _labels_of(self, y: Any, ranks: Ranks) -> Labels:
        return regression_labels(y, ranks)

    def _label_budget(self, n: int, labels: Labels) -> float:
        return n**0.5 if self.eps2 is None else self.eps2 / labels.scale

    def _store_labels(self, outcome: Outcome) -> None:
        assert outcome.base is not None
        labels, weak = self._labels, ~self.trusted_
        self.label_shift_ = self._array(len(labels))
        self.label_shift_[~weak], self.label_shift_[weak] = 0, outcome.best.point.Q.numpy()
        self.label_shift_ *= labels.scale
        self.corrected_labels_ = labels.given + self.label_shift_
        bare = ~labels.labelled
        if bare.any():
            predicted = outcome.base.double().numpy()[bare[weak]] * labels.scale + labels.mean
            self.corrected_labels_[bare] = predicted + self.label_shift_[bare]

    def _alternatives(self) -> Alternatives:
        return shifted_numbers(self._labels, self.label_shift_, self.corrected_labels_)
