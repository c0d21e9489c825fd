"""PGSRegressor: what is particular to numbers."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from safegain.data.labels import Labels, regression_labels
from safegain.data.ranks import Ranks
from safegain.data.splits import everywhere
from safegain.data.storage import Storage
from safegain.estimators.base import PGS, room
from safegain.estimators.docs import PARAMETERS
from safegain.estimators.issues import Alternatives, other_numbers
from safegain.estimators.record import Record
from safegain.search.outcome import Choice

if TYPE_CHECKING:
    from safegain.certificates.claims import Claims


class PGSRegressor(RegressorMixin, PGS):
    __doc__ = """Regress on weak labels and a few trusted rows, by the best model no worse than a reference.

    >>> from sklearn.datasets import load_diabetes
    >>> from safegain import PGSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = PGSRegressor(random_state=0).fit(X, y, trusted=range(100))
    >>> print(model.safeness_.sets[0].name)
    compared trusted rows
    """ + PARAMETERS.format(
        kind="regressor",
        auto='"linear", regularised least squares',
        searches='"auto", "free"',
        search_words="""How weights and shifts of the labels are found. "auto" is a curve of six unknowns from residuals
        to weights and shifts, and a fit on weak and trusted rows together.""",
        history="",
        columns="""loss
        (squared error, in the units of y). "auto" cross-validates a linear model on all trusted rows; otherwise the
        rows are those of `held_out_`, or all trusted rows where none are held out. "free" takes its last iterate where
        none was safe.""",
        labels="""label_shift_ : ndarray (n,)
        What was added to each label; for a row without one, to what a model predicts for it. 0 for trusted rows.""",
    )
    _classifies: ClassVar[bool] = False

    def adopt(self, record: Record) -> None:
        super().adopt(record)
        self.label_shift_ = record.moved

    def _claims(self, claims: "Claims", clip: float | None) -> "Claims":
        return claims.for_numbers(clip)

    def _usual_clip(self, labels: Labels, trusted: np.ndarray) -> float:
        return float(np.ptp(everywhere(labels.given, trusted, labels.ranks))) or labels.scale

    def _labels_of(self, y: Any, ranks: Ranks) -> Labels:
        return regression_labels(y, ranks)

    def _moved(
        self, best: Choice, weight: np.ndarray, labels: Labels, trusted: np.ndarray, storage: Storage | None
    ) -> tuple[np.ndarray, np.ndarray]:
        assert best.base is not None
        shift = room(storage, len(labels))
        shift[trusted], shift[~trusted] = 0, best.moved.numpy()
        corrected = labels.given + shift
        bare = ~labels.labelled
        corrected[bare] = best.base.numpy()[bare[~trusted]] + shift[bare]
        return shift, corrected

    def _alternatives(self) -> Alternatives:
        return other_numbers(self.record_, slice(None))
