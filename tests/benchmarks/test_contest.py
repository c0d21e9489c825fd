"""The default beside what its users would have run, rehearsed with few rows and small models."""

import math
import time

import numpy as np
import pytest
from benchmarks import contest
from benchmarks.twins import twins_of

from safegain import Forest
from safegain.datasets.files import find_file

pytestmark = pytest.mark.usefixtures("quick_evidence")


def needs(name: str):
    return pytest.mark.skipif(find_file(contest.FILES[name]) is None, reason=f"there is no {contest.FILES[name]}")


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in ("letter", "mnist")])
def test_the_default_is_timed_beside_cleanlab(monkeypatch, name):
    monkeypatch.setattr(contest, "QUICK_LEARNERS", [Forest(n_trees=10)])  # boosting of 784 columns takes its time
    (row,) = contest.run([name], quick=True)
    assert row["name"] == (f"default fit / cleanlab around a random forest: {name}, uniform 50%, 300 trusted, 700 weak")
    assert row["bar"] == "<= 3"
    assert 0.1 < row["ratio"] < 1_000, row  # six small forests, and a contest


@needs("letter")
def test_the_stored_model_is_measured_and_slow_peers_make_a_large_ratio(monkeypatch):
    class Slow:
        def predict_proba(self, X: np.ndarray) -> None:
            time.sleep(2)

    monkeypatch.setattr(contest, "twins_of", lambda model, X: [*twins_of(model, X), Slow()])
    size, speed = contest.run(["stored"], quick=True)
    assert size["name"].startswith("the stored model, MB")
    assert size["bar"] == "<= 100"
    assert 0.05 < size["ratio"] < 20, size  # at most three times ten trees, and 1,000 rows of labels
    assert "RandomForestClassifier" in speed["name"]
    assert "Slow: letter" in speed["name"]
    assert speed["bar"] == ">= 0.5"
    assert 2 < speed["ratio"] < 10_000, speed  # 3,000 rows through some thirty trees take less than a second


def test_the_million_is_measured_with_accuracy_time_and_memory():
    accuracy, times, memory = contest.run(["million"], quick=True)
    assert [each["bar"] for each in (accuracy, times, memory)] == [">= 93.5", "<= 4", "<= 4"]
    assert all("1,000 rows x 10, 30% of the labels wrong" in each["name"] for each in (accuracy, times, memory))
    beside = float(accuracy["name"].partition("boosting: ")[2].partition(")")[0])
    assert 60 < accuracy["ratio"] <= 100, accuracy  # chance is 50
    assert 55 < beside <= 100, accuracy
    assert 0.1 < times["ratio"] < 1_000, times
    assert 0.1 < memory["ratio"] < 2, memory  # next to no rows: Python and its libraries


def test_labels_of_the_million_are_wrong_as_often_as_said_and_trusted_ones_never():
    X, y, trusted = contest._training_rows(quick=True)
    again, right = contest.make_rows(contest.QUICK_ROWS, contest.QUICK_COLUMNS, contest.SEED)
    assert X.dtype == np.float32
    assert np.array_equal(X, again)
    assert trusted.sum() == contest.QUICK_TRUSTED
    assert (y == right)[trusted].all()
    assert abs((y != right)[~trusted].mean() - contest.WRONG) < 0.06
    assert abs(contest.make_rows(20_000, 5, 3)[1].mean() - 0.5) < 0.02


def test_without_the_data_the_rows_say_so(monkeypatch, tmp_path):
    for name in ("SAFEGAIN_DATA", "SAFEGAIN_CACHE"):
        monkeypatch.setenv(name, str(tmp_path))
    rows = list(contest.run(["letter", "mnist", "stored"]))
    assert [row["bar"] for row in rows] == ["<= 3", "<= 3", "<= 100", ">= 0.5"]
    for row in rows:
        assert "SAFEGAIN_DATA does not have it" in row["name"]
        assert math.isnan(row["ratio"])
        assert not row["met"]


def test_a_part_can_be_asked_for_alone(monkeypatch, capsys):
    found = contest.row("measured", [2.0], bar=3)
    monkeypatch.setattr(contest, "PARTS", {"one": lambda quick: [found] * (1 + quick), "other": None})
    monkeypatch.setattr("sys.argv", ["contest", "one", "--quick"])
    contest.main()
    assert capsys.readouterr().out == "measured: 2.00 <= 3: yes\n" * 2
