"""What rows without a label are worth, in labels."""

import pytest

from safegain.search.worth import Worth


@pytest.mark.parametrize(
    ("together", "worth"),
    [
        ((0.4, 0.6), [(0, True), (0, True)]),  # nothing
        ((0.6, 0.8), [(10, True), (20, True)]),  # 20 labels alone do .6, 40 do .8
        ((0.55, 0.7), [(4, True), (8, True)]),  # half-way on the logarithm's scale
        ((0.9, 0.85), [(30, False), (20, False)]),  # more than all labels alone
    ],
)
def test_worth_is_read_off_the_curve_of_labels_alone(together, worth):
    found = Worth((10, 20, 40), (0.5, 0.6, 0.8), (*together, 0.9))
    assert [found.more_labels(number) for number in range(2)] == worth


def test_a_curve_that_falls_is_taken_as_flat():
    assert Worth((10, 20, 40), (0.5, 0.7, 0.6), (0.65, 0.7, 0.7)).more_labels(0) == (7, True)
    assert Worth((10, 20, 40), (0.5, 0.7, 0.6), (0.7, 0.75, 0.7)).more_labels(1) == (20, False)
