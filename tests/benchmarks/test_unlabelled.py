"""The default where few rows have a label, rehearsed with few of them and small models."""

import pytest
from benchmarks import unlabelled

from safegain.datasets.files import find_file

pytestmark = pytest.mark.usefixtures("quick_evidence")


@pytest.mark.skipif(
    any(find_file(file) is None for file, _ in unlabelled.SETS.values()), reason="there is no data of both sets"
)
def test_rehearsal_measures_every_row():
    mnist, pendigits, exponent, memory = unlabelled.run(quick=True)
    assert [each["bar"] for each in (mnist, pendigits, exponent, memory)] == ["<= 5", "<= 5", "<= 1.2", "<= 4"]
    assert mnist["name"].endswith("MNIST, 400 rows, 60 labels")
    assert pendigits["name"].endswith("pendigits, 400 rows, 60 labels")
    assert 0.1 < mnist["ratio"] < 10_000, mnist
    assert 0.1 < pendigits["ratio"] < 10_000, pendigits
    assert -3 < exponent["ratio"] < 3, exponent
    assert 0.1 < memory["ratio"] < 2, memory


def test_without_the_data_the_rows_say_so(monkeypatch):
    monkeypatch.setattr(unlabelled, "find_file", lambda name: None)
    rows = list(unlabelled.forest(quick=True))
    assert all("SAFEGAIN_DATA does not have it" in row["name"] and not row["met"] for row in rows)
