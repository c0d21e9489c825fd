import numpy as np
import pytest

from safegain.learners.target import Target

ABC = np.array(list("abc"))


def test_class_numbers_become_sure_distributions():
    target = Target.of_codes(np.array([2, 0]), ABC)
    assert target.values.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert target.values.dtype == np.float32


def test_means_go_by_weight():
    assert Target(np.array([1.0, 4.0]), None, np.array([1.0, 2.0])).mean == pytest.approx([3.0])
    assert Target(np.array([1.0, 4.0]), None).mean == pytest.approx([2.5])


def test_some_rows_keep_their_weights():
    target = Target(np.array([1, 4, 5]), None, np.array([1.0, 2.0, 3.0])).taken(np.array([2, 0]))
    assert (target.values.tolist(), target.weights.tolist()) == ([5, 1], [3.0, 1.0])


@pytest.mark.parametrize(
    ("values", "classes", "weight", "told"),
    [
        (np.ones((2, 3)), None, None, "numbers need shape"),
        (np.ones(2), ABC, None, "distributions"),
        (np.ones((2, 2)), ABC, None, "3 classes need as many columns"),
        (np.ones(2), None, np.ones(3), "as many weights"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(values, classes, weight, told):
    with pytest.raises(ValueError, match=told):
        Target(values, classes, weight)
