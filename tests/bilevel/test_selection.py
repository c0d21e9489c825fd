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
    standings = [Standing(*found) for found in zip(ranks, mistakes or zeros, trusted or zeros, strict=True)]
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
