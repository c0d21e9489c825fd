"""Rows without a label in words."""

from types import SimpleNamespace

import pandas as pd

from safegain.report.unlabelled import unlabelled_words, worth_words
from safegain.runs.facts import Worth


def run_of(unlabelled=3, worth=None, **columns):
    labels = pd.DataFrame(
        {"row": range(5), "given": ["a", None, None, None, "b"], "trusted": [True, False, False, False, True]} | columns
    )
    facts = SimpleNamespace(rows=SimpleNamespace(all=5, unlabelled=unlabelled), worth=worth)
    return SimpleNamespace(facts=facts, labels=labels)


def test_nothing_is_said_where_all_rows_have_a_label():
    assert unlabelled_words(run_of(unlabelled=0)) == []
    assert unlabelled_words(SimpleNamespace(facts=SimpleNamespace(rows=None), labels=pd.DataFrame())) == []


def test_how_many_what_they_were_worth_and_which_to_label_next():
    worth = Worth([25, 50, 80], [0.5, 0.6, 0.7], [0.65, 0.9, 0.9])
    said = unlabelled_words(run_of(worth=worth, effect=[0.9, 0.1, 0.5, 0.3, 0.8]))
    assert said == [
        "3 of 5 rows have no label.",
        "With 25 labels, the other rows were worth 38 more.",
        "With 50 labels, the other rows were worth at least 30 more.",
        "A label would tell most for row 2, row 3 and row 1.",
    ]


def test_ids_take_the_place_of_numbers():
    said = unlabelled_words(run_of(effect=[0.0, 0.1, 0.5, 0.3, 0.0], id=["p", "q", "r", "s", "t"]))
    assert said[-1] == "A label would tell most for r, s and q."


def test_rows_that_were_worth_nothing_and_numbers_that_do_not_fit():
    assert worth_words(SimpleNamespace(worth=Worth([25, 50], [0.9, 0.9], [0.5, 0.6]))) == [
        "With 25 labels, the other rows were worth no more labels.",
        "With 50 labels, the other rows were worth no more labels.",
    ]
    assert worth_words(SimpleNamespace(worth=Worth([25, 50], [0.9], [0.5, 0.6]))) == []
    assert worth_words(SimpleNamespace(worth=None)) == []
