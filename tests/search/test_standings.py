"""How candidates fared, from their scores."""

import numpy as np
import torch

from safegain import Forest, Linear
from safegain.search.candidates import CORRECTED, Candidate
from safegain.search.contest import Score
from safegain.search.entry import Entry
from safegain.search.mixing import Mix
from safegain.search.standings import comparison, leaderboard


def score(*losses):
    return Score(torch.tensor(losses), torch.tensor(losses) > 0.5)


ENTRIES = [
    Entry(Candidate(learner, labels), seconds=seconds)
    for seconds, (learner, labels) in enumerate(
        [(Linear(), "trusted"), (Linear(), "raw+trusted"), (Forest(), "raw+trusted"), (Linear(), CORRECTED)]
    )
]
SCORES = [score(0.3, 0.6), score(0.9, 0.7), score(0.1, 0.8), score(0.2, 0.2)]


def test_the_best_reference_of_each_kind_is_compared_with_the_new_model():
    rows = torch.tensor([4, 7])
    found = comparison(ENTRIES, SCORES, score(0.1, 0.1), rows)
    assert found.rows is rows
    assert list(found.losses) == ["raw+trusted", "trusted", "new"]
    assert [each.tolist() for each in found.losses.values()] == [
        SCORES[2].losses.tolist(),
        SCORES[0].losses.tolist(),
        score(0.1, 0.1).losses.tolist(),
    ]
    assert found.wrong["raw+trusted"].tolist() == [False, True]


def test_the_leaderboard_is_sorted_and_has_the_shares_of_the_mixture():
    board = leaderboard(ENTRIES, SCORES, Mix((3, 0), (0.75, 0.25), (1.0, 1.0), np.empty((2, 2))))
    assert [(each.learner, each.trained_on) for each in board] == [
        ("Linear()", CORRECTED),
        ("Linear()", "trusted"),
        ("Forest()", "raw+trusted"),
        ("Linear()", "raw+trusted"),
    ]
    assert [each.share for each in board] == [0.75, 0.25, 0, 0]
    assert [each.mistakes for each in board] == [0, 1, 1, 2]
    assert [each.seconds for each in board] == [3, 0, 2, 1]
