"""PGSClassifier: what is particular to classes."""

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from safegain.data.devices import CPU, training_on
from safegain.data.labels import Labels, classification_labels
from safegain.data.ranks import Ranks
from safegain.data.rows import by_blocks
from safegain.data.storage import Storage
from safegain.estimators.base import PGS, room
from safegain.estimators.docs import PARAMETERS
from safegain.estimators.issues import Alternatives, other_classes
from safegain.estimators.record import Record
from safegain.estimators.rows import rows_of
from safegain.search.outcome import Choice

if TYPE_CHECKING:
    from safegain.certificates.claims import Claims

BLOCK_ROWS = 16_384  # whose labels are stored at a time


class PGSClassifier(ClassifierMixin, PGS):
    __doc__ = """Classify from weak labels and a few trusted rows, by the best model no worse than a reference.

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from safegain import PGSClassifier
    >>> X, y = (part[:700] for part in load_digits(return_X_y=True))
    >>> trusted = np.arange(len(y)) < 200
    >>> wrong = ~trusted & (np.random.RandomState(0).rand(len(y)) < 0.4)
    >>> noisy = np.where(wrong, (y + 1) % 10, y)
    >>> model = PGSClassifier(random_state=0).fit(X, noisy, trusted=trusted)
    >>> model.reference_, model.safeness_.fell_back
    ('raw+trusted', False)

    Any classifier of scikit-learn's API can be the model:

    >>> from sklearn.linear_model import LogisticRegression
    >>> mine = PGSClassifier(LogisticRegression(max_iter=200), random_state=0).fit(X / 16, noisy, trusted=trusted)
    >>> mine.reference_, mine.safeness_.fell_back
    ('trusted', False)
    """ + PARAMETERS.format(
        kind="classifier",
        more="",
        auto="all of these that take the rows, and a network for other searches",
        searches='"auto", "structured", "free"',
        search_words="""How weights and labels are found. "auto" takes the posterior of each row's class, from the
        evidence of other rows and a noise matrix, trains models on it and compares. "structured" is an outer loop over
        that posterior's few unknowns.""",
        history=""" Empty for "auto": see `leaderboard_`.""",
        columns="""loss
        (log-loss at the model's best temperature), mistake (bool). The rows are those of `held_out_`; of fewer than 150
        trusted rows, "auto" compares on all of the random sample. Searches with an outer loop compare on all trusted
        rows where none are held out, and take their last iterate where none was safe.""",
        standings="loss, mistakes",
        labels="""label_distribution_ : ndarray (n, k)
        The distribution over `classes_` that each row was trained on; one-hot for trusted rows. "free" has the model's
        own for the part of a row that does not count.
    classes_ : ndarray (k,)""",
    )
    _classifies: ClassVar[bool] = True

    @available_if(lambda self: self._learner.gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the rows of X, in the order of `classes_`."""
        check_is_fitted(self)
        with training_on(CPU):
            return by_blocks(self.model_.predict_proba, rows_of(self, X))

    def adopt(self, record: Record) -> None:
        super().adopt(record)
        assert record.labels.classes is not None
        self.classes_, self.label_distribution_ = record.labels.classes, record.moved

    def _claims(self, claims: "Claims", clip: float | None) -> "Claims":
        return claims.for_classes()

    def _usual_clip(self, labels: Labels, trusted: np.ndarray) -> None:
        return None

    def _labels_of(self, y: Any, ranks: Ranks) -> Labels:
        return classification_labels(y, ranks)

    def _moved(
        self, best: Choice, weight: np.ndarray, labels: Labels, trusted: np.ndarray, storage: Storage | None
    ) -> tuple[np.ndarray, np.ndarray]:
        classes, numbers = labels.classes, labels.numbers
        assert classes is not None
        distribution = room(storage, len(numbers), len(classes))
        distribution[trusted] = np.eye(len(classes))[numbers[trusted]]
        weak, Q = np.flatnonzero(~trusted), best.moved.numpy()
        for first in range(0, len(weak), BLOCK_ROWS):  # numpy would make a copy of Q in double precision
            distribution[weak[first : first + BLOCK_ROWS]] = Q[first : first + BLOCK_ROWS]
        # The weight is trust in the label as given: what is left of that label is w Q[given], and another wins by
        # having more. Unlabelled rows have no given label to discount.
        likeliest = np.empty(len(numbers), dtype=np.intp)
        for first in range(0, len(numbers), BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            left, given = distribution[block].copy(), numbers[block]
            rows = np.flatnonzero(labels.labelled[block])
            left[rows, given[rows]] *= weight[block][rows]
            likeliest[block] = left.argmax(axis=1)
        return distribution, classes[likeliest]

    def _alternatives(self) -> Alternatives:
        return other_classes(self.record_.labels, self.label_distribution_, self.sample_weight_)
