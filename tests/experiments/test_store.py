"""Results on disk: appended whole, read once, the last row of a run counts."""

import json
import warnings
from pathlib import Path

import pytest
from experiments import store as storing
from experiments.plan import Run
from experiments.store import Store, read_table

from tests.experiments.fakes import SETTING, record

RUN, OTHER = Run("fake", SETTING, "raw", 0), Run("fake", SETTING, "raw", 1)


def test_store_gives_back_what_it_got(store):
    assert store.read(RUN) is None
    store.write(record(RUN, accuracy=1.25))
    assert store.exists(RUN)
    for reader in (store, Store(store.folder)):
        assert reader.read(RUN) == record(RUN, accuracy=1.25)
        assert reader.read(OTHER) is None


def test_a_run_is_a_line_of_its_data_set(store):
    elsewhere = Run("digits", SETTING, "raw", 0)
    for run in (RUN, OTHER, elsewhere):
        store.write(record(run, b=1.0, a=2.0))
    assert {path.name for path in store.folder.iterdir()} == {"fake.jsonl", "digits.jsonl"}
    lines = store.path(RUN).read_text().splitlines()
    assert [json.loads(line) for line in lines] == [record(RUN, a=2.0, b=1.0), record(OTHER, a=2.0, b=1.0)]
    assert lines[0] == json.dumps(record(RUN, a=2.0, b=1.0), sort_keys=True)


def test_the_last_row_of_a_run_counts(store):
    for accuracy in (1.0, 2.0):
        store.write(record(RUN, accuracy=accuracy))
    store.write(record(OTHER, accuracy=3.0))
    for reader in (store, Store(store.folder)):
        assert [reader.read(run)["metrics"]["accuracy"] for run in (RUN, OTHER)] == [2.0, 3.0]
    assert len(store.path(RUN).read_text().splitlines()) == 3


@pytest.mark.parametrize("left", [1, 40, -2, -1])
def test_a_row_that_was_cut_off_is_left_out_and_done_again(store, left):
    store.write(record(RUN, accuracy=1.0))
    store.write(record(OTHER, accuracy=2.0))
    first, second = store.path(RUN).read_bytes().splitlines(keepends=True)
    store.path(RUN).write_bytes(first + second[:left])
    again = Store(store.folder)
    with pytest.warns(UserWarning, match=r"fake\.jsonl: the last line is cut off"):
        assert not again.exists(OTHER)
    assert again.read(RUN) == record(RUN, accuracy=1.0)
    again.write(record(OTHER, accuracy=2.0))
    assert store.path(RUN).read_bytes() == first + second
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(store.path(RUN)).keys() == {RUN, OTHER}


@pytest.mark.parametrize("line", ["<<<<<<< ours", "", "[1]", '{"metrics": {}}', '{"run": {"data": "fake"}}'])
def test_another_line_that_is_no_row_is_an_error(store, line):
    store.write(record(RUN))
    store.path(RUN).write_text(store.path(RUN).read_text() + line + "\n")
    with pytest.raises(ValueError, match=r"fake\.jsonl: line 2 is not the row of a run"):
        Store(store.folder).read(RUN)


def test_each_table_is_read_once(store, monkeypatch):
    runs = [Run("fake", SETTING, "raw", seed) for seed in range(20)]
    for run in runs:
        store.write(record(run))
    read: list[Path] = []

    def reading(path: Path) -> dict:
        read.append(path)
        return read_table(path)

    monkeypatch.setattr(storing, "read_table", reading)
    again = Store(store.folder)
    assert all(again.read(run) == record(run) for run in runs)
    again.write(record(RUN, accuracy=2.0))
    assert again.read(RUN)["metrics"] == {"accuracy": 2.0}
    assert read == [store.path(RUN)]


def test_what_could_not_be_written_is_not_there(store, monkeypatch):
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(storing, "append_line", full)
    with pytest.raises(OSError, match="no space left"):
        store.write(record(RUN))
    assert not store.exists(RUN)


def test_committed_tables_hold_each_run_once_with_its_digest():
    tables = sorted((Path(storing.__file__).parent / "results").glob("*.jsonl"))
    assert {"development", "mnist"} <= {path.stem for path in tables}
    for path in tables:
        found = read_table(path)
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(found) == len(lines) > 0
        assert [json.dumps(each, sort_keys=True) for each in found.values()] == lines
        for run, each in found.items():
            assert each.keys() == {"run", "metrics", "seconds", "versions", "machine"}
            assert (run.data, run.quick) == (path.stem, False)
            assert each["metrics"]
            assert len(each["versions"]["code"]) == 12
