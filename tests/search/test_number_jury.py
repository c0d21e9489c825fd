"""Trusted numbers and weak ones judge together: by hand."""

import numpy as np
import pytest

from safegain.search.jury import WITNESS
from safegain.search.number_jury import NumberJury

SAID = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def test_loss_by_hand():
    jury, P = NumberJury(SAID, 3, heard=np.array([1.0, 0.5])), np.array([1.0, 1.0, 5.0, 4.5, 7.0, 99.0])
    assert jury.losses(P).tolist() == [0, 1, 4, 0.25, 4]
    counts = np.array([1, 1, 1, WITNESS, WITNESS / 2])
    np.testing.assert_allclose(jury.counts, counts)
    assert jury.loss(P) == pytest.approx(counts @ [0, 1, 4, 0.25, 4] / counts.sum())
    assert jury.alone.loss(P) == pytest.approx(5 / 3)


def test_who_is_not_believed_is_not_heard():
    wild = np.array([1.0, 2.0, 3.0, 4.0, -1e9])
    jury = NumberJury(wild, 3, heard=np.array([1.0, 0.0]))
    assert jury.loss(SAID) == 0


def test_many_weak_rows_count_twice_the_trusted_ones_at_most():
    jury = NumberJury(np.zeros(1010), 10, heard=np.full(1000, 0.7))
    assert jury.counts[10:].sum() == pytest.approx(4 * 10)


def test_weights_of_trusted_rows_count():
    jury = NumberJury(SAID[:2], 2, weight=np.array([3.0, 1.0]))
    assert jury.loss(np.array([0.0, 0.0])) == pytest.approx((3 * 1 + 4) / 4)


def test_trusted_rows_contradict_beyond_chance_only():
    random = np.random.default_rng(0)
    y = random.normal(size=60)
    jury = NumberJury(y, 40, heard=np.ones(20))
    good, bad = y + 0.1 * random.normal(size=60), y + random.normal(size=60)
    assert jury.contradicts(bad, good)
    assert not jury.contradicts(good, bad)
    assert not jury.contradicts(good, y + 0.1 * random.normal(size=60))
