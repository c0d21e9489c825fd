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
    >>> model = PGSRegressor(["linear", "huber"], random_state=0).fit(X, y, trusted=range(100))
    >>> print(model.safeness_.sets[0].name)
    held-out rows
    """ + PARAMETERS.format(
        kind="regressor",
        more='"huber", ',
        auto='all of these except the network; "linear" for other searches',
        searches='"auto", "free", "residuals"',
        search_words="""How it is found which labels are good, and what the others should be. "auto" asks other rows,
        and tells good errors from bad ones by likelihood. "residuals" is a curve of six unknowns from residuals to
        weights and shifts of one linear model or network.""",
        history="",
        columns="""loss
        (squared error, in the units of y). Under "auto" of fewer than 150 trusted rows, and for a linear model under
        "residuals", these are all trusted rows; otherwise those of `held_out_`, or all where none are held out. "free"
        takes its last iterate where none was safe.""",
        standings="loss (mean squared error)",
        labels="""label_shift_ : ndarray (n,)
        What was added to each label; for a row without one, to what a model predicts for it. 0 for trusted rows. Under
        "auto", labels that are more likely wrong than right are moved to what they should be.""",
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
