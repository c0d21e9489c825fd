"""How well labels were corrected."""

import pytest

from safegain.datasets.correction import correction_f1


def test_correction_f1():
    given, true = [0, 0, 0, 0, 1], [1, 1, 2, 0, 1]
    assert correction_f1(given, true, [1, 2, 0, 3, 1]) == pytest.approx(1 / 3)  # precision and recall are both 1/3
    assert correction_f1(given, true, true) == 1
    assert correction_f1(given, true, given) == 0
    assert correction_f1(true, true, true) == 1
