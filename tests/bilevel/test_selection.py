"""Which iterate is kept, and what is said about it."""

from types import SimpleNamespace

import pytest
import torch

from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import Candidate, Selection, Standing
from safegain.search.iterates import iterate_report


def candidate(step, losses):
    return Candidate(step, torch.zeros(1), Point(torch.ones(1), torch.ones(1)), torch.tensor(losses))


def choose(ranks, losses, raw=(1.0, 1.0), trusted=None, mistakes=None):
    """A selection that has seen candidates with these losses on two sets and these ranks; ranks[0] is the raw one's."""
    zeros = [0.0] * len(ranks)
    losses_of, wrong = (
        [torch.as_tensor(each, dtype=torch.float64).reshape(-1) for each in values]
        for values in (ranks, mistakes or zeros)
    )
    standings = [Standing(*found) for found in zip(losses_of, wrong, trusted or zeros, strict=True)]
    found = dict(zip([None, *range(len(losses))], standings, strict=True))
    selection = Selection(candidate(None, list(raw)), lambda c: found[c.step])
    for step, pair in enumerate(losses):
        selection.consider(candidate(step, list(pair)))
    return selection


def report(selection, units=(1.0, 1.0), n_held_out=0):
    sets = SimpleNamespace(names=["a", "b"], units=torch.tensor(units))
    return iterate_report(selection, sets, n_held_out=n_held_out, ending="ran all 3 outer steps")


def test_the_best_safe_iterate_wins():
    selection = choose([5, 3, 1, 2], [(0.5, 0.5), (0.1, 1.1), (1.0, 0.9)])
    assert selection.best.step == 2  # rank 1 is unsafe on the second set; equal losses are safe
    told = report(selection, units=(1.0, 4.0), n_held_out=30)
    assert not told.fell_back
    assert (told.sets[1].raw_loss, told.sets[1].new_loss) == (4.0, pytest.approx(3.6))
    assert "smallest margin 0, a" in told.status
    assert "30 trusted rows that the search did not use" in told.status


def test_the_raw_model_stays_if_nothing_is_safe_or_better():
    unsafe = choose([5, 1], [(0.5, 1.5)])
    assert unsafe.best is unsafe.raw
    assert "no iterate was safe" in report(unsafe).status
    no_better = choose([5, 5], [(0.5, 0.5)])
    assert no_better.best is no_better.raw
    assert "none of the 1 safe iterates ranked better" in report(no_better).status
    loses_on_the_whole = choose([5, 1], [(0.5, 0.5)], trusted=[1.0, 1.1])
    assert loses_on_the_whole.best is loses_on_the_whole.raw
    more_mistakes = choose([5, 1], [(0.5, 0.5)], mistakes=[0.1, 0.2])
    assert more_mistakes.best is more_mistakes.raw
    not_a_number = choose([5, float("nan")], [(float("nan"), 0.5)])
    assert not_a_number.best is not_a_number.raw


def rows(mean, spread, *, like=0.0):
    """Losses of 100 rows: `spread` is of the difference from others, which share what is `like` them."""
    own, shared = (torch.randn(100, generator=torch.Generator().manual_seed(seed)) for seed in (int(1e4 * mean), 99))
    own, shared = ((part - part.mean()) / part.std() for part in (own, shared))
    return mean + spread * own + like * shared


SAFE = (0.5, 0.5)


def test_the_last_iterate_within_one_standard_error_of_the_best_is_kept():
    """Differences have a standard error of .1 sqrt 2 here: 1.1 is near to 1.0, and 1.2 is not."""
    assert choose([rows(5, 1), rows(1.0, 1), rows(1.1, 1), rows(1.2, 1)], [SAFE] * 3).best.step == 1
    assert choose([rows(5, 1), rows(1.1, 1), rows(1.0, 1), rows(1.2, 1)], [SAFE] * 3).best.step == 1
    # the difference counts, row by row, and not how much rows differ from each other
    assert choose([rows(5, 0.1), rows(1.0, 0.1, like=9), rows(1.1, 0.1, like=9)], [SAFE] * 2).best.step == 0
    # the best so far is what is near, or a chain of steps would lead anywhere
    slide = [rows(5, 1), rows(1.0, 1), rows(1.1, 1), rows(1.19, 1), rows(1.3, 1)]
    assert choose(slide, [SAFE] * 4).best.step == 1


def test_what_is_near_the_best_must_be_safe_and_better_than_the_raw_model():
    near = [rows(1.05, 1), rows(1.0, 1), rows(1.04, 1), rows(1.06, 1)]
    assert choose(near, [SAFE] * 3).best.step == 1
    assert choose(near, [SAFE, (0.5, 1.5), SAFE]).best.step == 0
    assert choose(near, [SAFE] * 3, mistakes=[0.1, 0.1, 0.2, 0.1]).best.step == 0


def mistaken(*rows):
    return torch.zeros(100).index_fill(0, torch.tensor(rows).long(), 1)


def test_mistakes_count_beyond_chance():
    """Two more mistakes and one less are chance, five more are not; the same two rows more, of 100, are not either."""
    raw = mistaken(1, 2, 3)
    for found, kept in (
        (mistaken(1, 2, 4, 5), 0),
        (mistaken(1, 2, 3, 4, 5, 6, 7, 8), None),
        (mistaken(1, 2, 3, 4, 5), None),
    ):
        assert choose([5, 1], [SAFE], mistakes=[raw, found]).best.step == kept
