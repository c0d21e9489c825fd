"""A file to which rows are only ever added. What it makes of damaged ones: tests/review/test_decisions.py."""

import contextlib
import sqlite3

import pytest

from safegain.runs.added_only import AddedOnly, StoreError, never_changed

SCHEMA = f"CREATE TABLE IF NOT EXISTS words (word TEXT NOT NULL); {never_changed('words')}"
INTO = "INSERT INTO words VALUES (?)"


def test_what_is_added_is_on_the_disk_and_stays(tmp_path):
    with contextlib.closing(AddedOnly(tmp_path / "words", SCHEMA, 3, "words")) as one:
        with one.transaction():
            one.add(INTO, [("a",), ("b",)])
        with pytest.raises(StoreError, match=r"words: cannot be used \(NOT NULL"), one.transaction():
            one.add(INTO, [("c",), (None,)])
        with contextlib.closing(AddedOnly(tmp_path / "words", SCHEMA, 3, "words")) as other:
            assert other.ask("SELECT word FROM words ORDER BY word") == [("a",), ("b",)]
        with pytest.raises(StoreError, match="words are only ever added"):
            one.ask("DELETE FROM words")
        assert one._base.execute("PRAGMA synchronous").fetchone() == (2,)


def test_another_format_or_shape_is_told(tmp_path):
    AddedOnly(tmp_path / "words", SCHEMA, 3, "words").close()
    with pytest.raises(StoreError, match="has format 3, but this version reads 2; install a newer Safegain"):
        AddedOnly(tmp_path / "words", SCHEMA, 2, "words")
    with contextlib.closing(sqlite3.connect(tmp_path / "words")) as base:
        base.execute("CREATE TABLE more (x)")
    with pytest.raises(StoreError, match="does not hold words of this version; move it away"):
        AddedOnly(tmp_path / "words", SCHEMA, 3, "words")
