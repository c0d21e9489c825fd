import pytest

from safegain.runs.facts import Facts, Rows, Verdict
from safegain.runs.words import judged

WEAK = Rows(all=2100, weak=2000, trusted=100, held_out=50, set_aside=0, unlabelled=0)


@pytest.mark.parametrize(
    ("verdict", "rows", "doubted", "words"),
    [
        (None, None, 3, "3 doubtful labels are"),
        (Verdict("safe", "raw"), WEAK, 1500, "1,500 of 2,000 doubtful"),
        (Verdict("fell back", "raw"), None, 15, "15 doubtful"),
        (Verdict("fell back", "raw"), None, 0, "as they are"),
        (Verdict("fell back", "trusted"), None, 0, "not used"),
    ],
)
def test_what_is_said_of_labels_is_so(verdict, rows, doubted, words):
    assert words in judged(Facts(format=2, task="classes", verdict=verdict, rows=rows, n_suspicious=doubted))
