"""Which rows are weak, trusted, held out, below each other or in the order of the user."""

import numpy as np
import pytest
import torch

from safegain import Linear
from safegain.data.labels import classification_labels
from safegain.data.parts import Masks, parted
from safegain.search.arrangement import Arrangement, numbers, numbers_of_any
from tests.search.samples import digits, of_classes

TRUSTED = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 0], dtype=bool)
HELD = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0, 0], dtype=bool)
Y = np.array([0, 1, -1, 0, 1, 1, 0, 1, -1, 1])
WEAK, SEARCH = [0, 2, 5, 6, 8, 9], [1, 4]


def parts(held=HELD):
    return of_classes(np.arange(20.0).reshape(10, 2), Y, TRUSTED, held, learner=Linear()).parts


def test_rows_below_each_other():
    rows = Arrangement.of(parts())
    assert len(rows) == 10
    assert numbers(rows.weak).tolist() == [0, 1, 2, 3, 4, 5]
    assert numbers(rows.search).tolist() == [6, 7]
    assert numbers(rows.held_out).tolist() == [8, 9]
    assert numbers(rows.trusted).tolist() == [6, 7, 8, 9]
    assert numbers(~rows.labelled).tolist() == [1, 4]  # rows 2 and 8 of the user's
    values = torch.arange(10)
    assert rows.of_weak(values).tolist() == [0, 1, 2, 3, 4, 5]
    assert rows.of_weak(values).data_ptr() == values.data_ptr()  # not copied


def test_rows_of_any_mask():
    masks = [torch.tensor([True, False, False, True]), torch.tensor([False, False, True, True])]
    assert numbers_of_any(masks).tolist() == [0, 2, 3]
    assert numbers_of_any([]).tolist() == []


def test_rows_in_the_users_order():
    below = [*WEAK, *SEARCH, 3, 7]
    order = np.argsort(below)
    rows = Arrangement.of(parts(), torch.from_numpy(order))
    assert numbers(rows.weak).tolist() == WEAK
    assert numbers(rows.search).tolist() == SEARCH
    assert numbers(rows.held_out).tolist() == [3, 7]
    assert numbers(~rows.labelled).tolist() == [2, 8]
    assert rows.of_weak(torch.arange(10)).tolist() == WEAK


@pytest.mark.parametrize("held_out", [False, True])
def test_the_rows_of_a_reference(held_out):
    rows = Arrangement.of(parts(), torch.from_numpy(np.argsort([*WEAK, *SEARCH, 3, 7])))
    labelled = [0, 5, 6, 9]
    trusted = [1, 3, 4, 7] if held_out else SEARCH
    assert rows.reference("raw", held_out=held_out).tolist() == labelled
    assert rows.reference("trusted", held_out=held_out).tolist() == trusted
    assert rows.reference("raw+trusted", held_out=held_out).tolist() == sorted(labelled + trusted)


def test_without_held_out_rows():
    rows = Arrangement.of(parts(np.zeros_like(HELD)))
    assert not rows.held_out.any()
    assert numbers(rows.search).tolist() == [6, 7, 8, 9]


def sampled_parts():
    X, noisy, _, trusted = digits(k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    sample = held | (trusted & (np.arange(len(noisy)) % 3 > 0))
    return parted(X, classification_labels(noisy), Masks(trusted, held, np.zeros_like(held), sample))


def test_rows_of_the_sample():
    parts = sampled_parts()
    rows = Arrangement.of(parts)
    assert torch.equal(rows.sample[rows.search], parts.search.sample)
    assert rows.sample[rows.held_out].all()
    assert not rows.sample[rows.weak].any()
    backwards = torch.arange(len(rows)).flip(0)
    assert torch.equal(Arrangement.of(parts, backwards).sample, rows.sample.flip(0))
