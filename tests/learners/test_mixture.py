import numpy as np
import pytest

from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.mixture import SMOOTHING, TrainedMixture, mixed
from tests.learners.soft_rows import CLASSES, numbers, soft

P = [np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.5, 0.5], [1.0, 0.0]])]


def test_linear_and_log_linear_mixtures_by_hand():
    assert mixed(P, (0.25, 0.75)) == pytest.approx(np.array([[0.6, 0.4], [0.8, 0.2]]))
    smooth = [(1 - SMOOTHING) * each + SMOOTHING / 2 for each in P]
    product = smooth[0] ** 0.25 * smooth[1] ** 0.75
    wanted = product / product.sum(axis=1, keepdims=True)
    assert mixed(P, (0.25, 0.75), geometric=True) == pytest.approx(wanted)


@pytest.mark.parametrize("geometric", [False, True])
def test_it_predicts_classes(geometric):
    X, target = soft(300)
    members = (Forest(n_trees=5).train(X, target, 0), Boosting(max_iter=3).train(X, target, 0))
    model = TrainedMixture(members, (0.3, 0.7), CLASSES, geometric)
    wanted = mixed([each.predict_proba(X) for each in members], (0.3, 0.7), geometric=geometric)
    assert np.array_equal(model.predict_proba(X), wanted)
    assert np.array_equal(model.predict(X), CLASSES[wanted.argmax(axis=1)])
    assert model.classes_ is CLASSES


def test_it_predicts_numbers():
    X, target = numbers(300)
    members = (Forest(n_trees=5).train(X, target, 0), Boosting(max_iter=3).train(X, target, 0))
    model = TrainedMixture(members, (0.3, 0.7), None)
    assert model.predict(X) == pytest.approx(0.3 * members[0].predict(X) + 0.7 * members[1].predict(X))
    with pytest.raises(AttributeError):
        model.predict_proba(X)


@pytest.mark.parametrize(
    ("members", "weights", "classes", "geometric", "told"),
    [
        ((), (), CLASSES, False, "1 to 3 members"),
        ((1, 2), (1.0,), CLASSES, False, "as many weights"),
        ((1, 2, 3, 4), (0.25,) * 4, CLASSES, False, "1 to 3"),
        ((1, 2), (-0.5, 1.5), CLASSES, False, "not be negative"),
        ((1, 2), (0.5, 0.4), CLASSES, False, "sum to one"),
        ((1,), (float("nan"),), CLASSES, False, "not be negative"),
        ((1,), (1.0,), None, True, "not geometric"),
    ],
)
def test_what_is_no_mixture_is_refused(members, weights, classes, geometric, told):
    with pytest.raises(ValueError, match=told):
        TrainedMixture(members, weights, classes, geometric)
