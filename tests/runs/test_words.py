import numpy as np
import pandas as pd
import pytest

from safegain.runs.facts import Facts, Rows, Verdict
from safegain.runs.words import judged, noise_words, range_text


def bare(unlabelled):
    return Rows(all=2100, weak=2000, trusted=100, held_out=50, set_aside=0, unlabelled=unlabelled)


WEAK = bare(0)


@pytest.mark.parametrize(
    ("verdict", "rows", "doubted", "words"),
    [
        (None, None, 3, "3 doubtful labels are"),
        (Verdict("safe", "raw"), WEAK, 1500, "1,500 of 2,000 doubtful"),
        (Verdict("safe", "raw"), bare(400), 1500, "1,500 of 1,600 doubtful"),
        (Verdict("safe", "trusted"), bare(2000), 0, "No label was doubted: all are trusted, and 2,000"),
        (Verdict("fell back", "trusted"), bare(2000), 0, "No label was doubted"),
        (Verdict("fell back", "raw"), None, 15, "15 doubtful"),
        (Verdict("fell back", "raw"), None, 0, "as they are"),
        (Verdict("fell back", "trusted"), None, 0, "not used"),
    ],
)
def test_what_is_said_of_labels_is_so(verdict, rows, doubted, words):
    assert words in judged(Facts(format=3, task="classes", verdict=verdict, rows=rows, n_suspicious=doubted))


def test_how_many_numbers_look_wrong_and_by_how_much():
    frame = pd.DataFrame(
        {
            "given": [1.0, 2.0, 30.0, np.nan, 5.0, 60.0],
            "suggested": [1.1, np.nan, 3.0, np.nan, np.nan, 16.0],
            "suspicion": [0.1, 0.0, 0.9, 0.0, 0.0, 0.8],
            "trusted": [False, True, False, False, False, False],
            "low": np.zeros(6),
        }
    )
    assert noise_words(frame) == "About 50% of the values look wrong, typically by 36."
    assert noise_words(frame[:2]) == "None of the values looks wrong."
    assert noise_words(frame[1:2]) is None
    assert noise_words(frame.drop(columns="low")) is None
    many = pd.concat([frame[2:3], *([frame[:1]] * 200)])
    assert noise_words(many) == "Fewer than 1% of the values look wrong, typically by 27."


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(3.14159, 3.27183, "3.14 to 3.27"), (1200.4, 1896.2, "1200 to 1900"), (-5, 5, "-5 to 5"), (2.5, 2.5, "2.5")],
)
def test_a_range_has_the_digits_that_its_width_deserves(low, high, words):
    assert range_text(low, high) == words
