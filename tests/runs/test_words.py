import pytest

from safegain.runs.words import judged


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"verdict": None, "rows": None, "n_suspicious": 3}, "3 doubtful labels are"),
        ({"verdict": {"outcome": "safe"}, "rows": {"weak": 2000}, "n_suspicious": 1500}, "1,500 of 2,000 doubtful"),
        ({"verdict": {"outcome": "fell back", "reference": "raw"}, "rows": None, "n_suspicious": 15}, "15 doubtful"),
        ({"verdict": {"outcome": "fell back", "reference": "raw"}, "rows": None, "n_suspicious": 0}, "as they are"),
        ({"verdict": {"outcome": "fell back", "reference": "trusted"}, "rows": None, "n_suspicious": 0}, "not used"),
    ],
)
def test_what_is_said_of_labels_is_so(facts, words):
    assert words in judged(facts)
