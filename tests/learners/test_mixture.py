import numpy as np
import pytest

from safegain.learners.mixture import SMOOTHING, TrainedMixture, logits_of, sharpened

X = np.zeros((3, 2))
CLASSES = np.array(["a", "b"])


class Member:
    def __init__(self, said):
        self.said = np.asarray(said, dtype=float)

    def predict_proba(self, X):
        return self.said

    def predict(self, X):
        return self.said


ONE, OTHER = Member([[0.9, 0.1], [0.2, 0.8], [1.0, 0.0]]), Member([[0.3, 0.7], [0.3, 0.7], [0.0, 1.0]])


def test_sharpness_one_only_smooths():
    assert sharpened(ONE.said, 1.0) == pytest.approx((1 - SMOOTHING) * ONE.said + SMOOTHING / 2)


def test_sharpness_is_a_power():
    smooth = np.exp(logits_of(ONE.said))
    assert sharpened(ONE.said, 3.0) == pytest.approx(smooth**3 / (smooth**3).sum(axis=1, keepdims=True))


def test_probabilities_are_the_mean_of_sharpened_ones():
    model = TrainedMixture((ONE, OTHER), (0.25, 0.75), CLASSES, (2.0, 0.5))
    wanted = 0.25 * sharpened(ONE.said, 2.0) + 0.75 * sharpened(OTHER.said, 0.5)
    assert model.predict_proba(X) == pytest.approx(wanted)
    assert (model.predict(X) == CLASSES[wanted.argmax(axis=1)]).all()
    assert (model.classes_ == CLASSES).all()


def test_numbers_are_a_mean():
    model = TrainedMixture((Member([1.0, 2.0, 3.0]), Member([3.0, 2.0, 1.0])), (0.3, 0.7), None)
    assert model.predict(X) == pytest.approx([2.4, 2.0, 1.6])
    with pytest.raises(AttributeError, match="regression"):
        model.predict_proba(X)


@pytest.mark.parametrize(
    ("members", "weights", "classes", "sharpness", "told"),
    [
        ((), (), CLASSES, (), "1 to 3 members"),
        ((1, 2, 3, 4), (0.25,) * 4, CLASSES, (1.0,) * 4, "got 4"),
        ((1, 2), (1.0,), CLASSES, (1.0, 1.0), "as many weights"),
        ((1, 2), (-0.5, 1.5), CLASSES, (1.0, 1.0), "not be negative"),
        ((1, 2), (0.5, 0.4), CLASSES, (1.0, 1.0), "sum to one"),
        ((1,), (1.0,), None, (1.0,), "numbers none"),
        ((1,), (1.0,), CLASSES, (0.0,), "positive sharpness"),
    ],
)
def test_what_is_no_mixture_is_refused(members, weights, classes, sharpness, told):
    with pytest.raises(ValueError, match=told):
        TrainedMixture(members, weights, classes, sharpness)
