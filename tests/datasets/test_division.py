"""No set is both chosen on and judged by, and every one of them can be loaded."""

from safegain.datasets.division import DEVELOPMENT, DEVELOPMENT_NUMBERS, FINAL, FINAL_NUMBERS
from safegain.datasets.tables import CLASSES, REGRESSION
from safegain.datasets.text import ORIGINS

SHIPPED = {"mnist", "cifar10n", "digits"}  # with loaders of their own


def test_the_two_parts_share_nothing_and_leave_nothing_out():
    assert set(DEVELOPMENT) | set(FINAL) == SHIPPED | set(CLASSES) | set(ORIGINS)
    assert set(DEVELOPMENT_NUMBERS) | set(FINAL_NUMBERS) == set(REGRESSION)
    assert not set(DEVELOPMENT) & set(FINAL)
    assert not set(DEVELOPMENT_NUMBERS) & set(FINAL_NUMBERS)
    assert (len(DEVELOPMENT), len(FINAL), len(DEVELOPMENT_NUMBERS), len(FINAL_NUMBERS)) == (10, 12, 9, 4)
