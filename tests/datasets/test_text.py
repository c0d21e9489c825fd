"""Real texts, their features, and votes."""

import numpy as np
import pytest

from safegain.datasets.text import load_text, majority, text_features
from tests.datasets.sources import real_data


@real_data
def test_youtube():
    bunch = load_text("ws_youtube")
    assert bunch.weak_labels.shape == (1956, 10)
    assert [int((bunch.split == part).sum()) for part in ("train", "valid", "test")] == [1586, 120, 250]
    train = bunch.split == "train"
    assert np.bincount(bunch.target[train]).tolist() == [755, 831]
    votes, target = bunch.weak_labels[train], bunch.target[train]
    covered = (votes != -1).any(axis=1)
    assert round(100 * covered.mean(), 1) == 87.7
    vote = majority(votes, 2)
    assert (vote == target)[vote >= 0].mean() > 0.93


@real_data
@pytest.mark.parametrize(("name", "rows", "rules", "classes"), [("ws_trec", 5965, 68, 6), ("ws_sms", 5502, 73, 2)])
def test_texts_with_rules(name, rows, rules, classes):
    bunch = load_text(name)
    assert bunch.weak_labels.shape == (rows, rules)
    assert len(bunch.text) == len(bunch.target) == rows
    assert len(np.unique(bunch.target)) == len(bunch.class_names) == classes
    assert set(np.unique(bunch.weak_labels)) <= set(range(-1, classes))


def test_a_name_that_is_not_known_is_told_the_others():
    with pytest.raises(ValueError, match="'youtube' is not known; choose one of ws_sms, ws_trec, ws_youtube"):
        load_text("youtube")


def test_majority_of_votes():
    assert majority(np.array([[1, 1, 0], [0, -1, -1], [1, 0, -1], [-1, -1, -1]]), 2).tolist() == [1, 0, -1, -1]
    assert majority(np.array([[2, 2, 0, 1], [2, 2, 1, 1]]), 3).tolist() == [2, -1]


def test_features_come_from_the_texts_that_they_are_learned_from_alone():
    learned = ["a good film", "a good book", "a bad film", "a bad book"]
    rows = text_features(learned, ["good film", "bad book", "nothing known"])
    assert rows.shape[0] == 3
    assert rows.dtype == np.float32
    assert np.abs(rows[2]).max() == 0
    assert rows[0] @ rows[0] > rows[0] @ rows[1]
    assert np.array_equal(rows, text_features(learned, ["good film", "bad book", "nothing known"]))
