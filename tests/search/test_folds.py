"""Few trusted rows judge in turn, many in one part; nobody judges what it has trained."""

import numpy as np
import pytest
import torch

from safegain.search.arrangement import Arrangement
from safegain.search.folds import FEW, LEAST, PARTS, apart, folds_of, last_fold


def arrangement(n_weak, n_search, n_held, n_others=0):
    n = n_weak + n_search + n_others + n_held
    number = torch.arange(n)
    weak, held = number < n_weak, number >= n - n_held
    sample = ~weak & ~((number >= n_weak + n_search) & ~held)
    return Arrangement(torch.ones(n, dtype=torch.bool), weak, ~weak & ~held, held, sample)


def y_of(rows):
    return torch.arange(len(rows)) % 3


def random():
    return np.random.RandomState(0)


@pytest.mark.parametrize(("n_search", "n_held", "n_others"), [(10, 10, 0), (30, 30, 7), (200, 200, 0), (200, 200, 9)])
def test_who_judges_has_no_other_part(n_search, n_held, n_others):
    rows = arrangement(50, n_search, n_held, n_others)
    folds = folds_of(rows, y_of(rows), random())
    assert len(folds) == (PARTS if n_search + n_held < FEW else 1)
    for fold in folds:
        assert fold.judged.any()
        assert not (fold.judged & (fold.weak | fold.trusted)).any()
        assert not (fold.judged & ~rows.sample).any()
        assert torch.equal(fold.judged | fold.trusted, rows.trusted)  # outside the sample they are right too, and train
        assert torch.equal(fold.weak, rows.weak)


def test_of_few_rows_every_one_judges_once():
    rows = arrangement(50, 30, 30)
    folds = folds_of(rows, y_of(rows), random())
    judged = torch.stack([fold.judged for fold in folds])
    assert torch.equal(judged.sum(dim=0), rows.trusted.long())
    for fold in folds:
        assert torch.equal(fold.trusted, rows.trusted & ~fold.judged)
        counts = torch.bincount(y_of(rows)[fold.judged])
        assert counts.sum() == 60 // PARTS
        assert counts.max() - counts.min() <= 1  # a share of each class
    other = folds_of(rows, y_of(rows), np.random.RandomState(1))
    assert not torch.equal(folds[0].judged, other[0].judged)


def test_of_many_rows_the_held_out_ones_judge():
    rows = arrangement(50, 300, 300)
    (fold,) = folds_of(rows, y_of(rows), random())
    assert torch.equal(fold.judged, rows.held_out)
    assert torch.equal(fold.trusted, rows.search)


def test_too_few_rows_make_no_fold():
    assert folds_of(arrangement(50, LEAST // 2 - 1, LEAST // 2), y_of(arrangement(50, 3, 4)), random()) == []
    assert folds_of(arrangement(50, 200, 0), y_of(arrangement(50, 200, 0)), random()) == []  # none is to judge
    assert len(folds_of(arrangement(50, 20, 0), y_of(arrangement(50, 20, 0)), random())) == PARTS  # all do, in turn
    assert len(folds_of(arrangement(50, LEAST // 2, LEAST // 2), y_of(arrangement(50, 4, 4)), random())) == PARTS


@pytest.mark.parametrize("n", [20, 300])
def test_in_the_end_all_trusted_rows_train(n):
    rows = arrangement(50, n, n, 5)
    fold = last_fold(rows)
    assert torch.equal(fold.trusted, rows.trusted)
    assert torch.equal(fold.weak, rows.weak)
    assert not (fold.judged | fold.witnesses).any()


@pytest.mark.parametrize("n", [20, 300])
def test_a_fifth_of_the_weak_rows_with_a_label_judges_and_does_not_train(n):
    rows = arrangement(500, n, n)
    rows.labelled[:100] = False
    folds = folds_of(rows, y_of(rows), random())
    witnesses = torch.stack([fold.witnesses for fold in folds])
    assert (witnesses.sum(dim=0) <= 1).all()  # each in one fold
    heard = witnesses.any(dim=0)
    assert heard.sum() == 80
    assert heard[100:500].sum() == 80
    for fold in folds:
        assert fold.witnesses.any()
        assert not (heard & (fold.weak | fold.trusted | fold.judged)).any()
        assert torch.equal(fold.weak, rows.weak & ~heard)  # those without a label train, on what is found of them


def test_few_weak_rows_all_train():
    rows = arrangement(60, 20, 20)
    assert not any(fold.witnesses.any() for fold in folds_of(rows, y_of(rows), random()))


def test_rows_like_one_that_judges_do_not_train():
    rows = arrangement(400, 100, 100)
    (fold,) = folds_of(rows, y_of(rows), random())
    assert fold.witnesses.sum() == 80
    alike = torch.arange(len(rows))
    judged, witness = fold.judged.nonzero()[0], fold.witnesses.nonzero()[0]
    weak, others, trusted = fold.weak.nonzero()[:2, 0], fold.weak.nonzero()[2:5, 0], fold.trusted.nonzero()[0]
    alike[weak[0]] = alike[trusted] = judged  # both are like a row that judges
    alike[weak[1]] = witness
    alike[others] = others[0]  # these are like each other
    found = apart(fold, alike)
    assert (fold.weak & ~found.weak).nonzero()[:, 0].tolist() == weak.tolist()
    assert (fold.trusted & ~found.trusted).nonzero()[:, 0].tolist() == trusted.tolist()
    assert torch.equal(found.judged, fold.judged)
    assert torch.equal(found.witnesses, fold.witnesses)
    assert apart(fold, None) is fold
    assert apart(fold, torch.arange(len(rows)) % 5) is fold  # there are five different rows
