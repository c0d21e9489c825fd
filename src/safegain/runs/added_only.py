"""A SQLite file to which rows are only ever added, and which are on the disk before anyone is told.

The file may come from somebody else, with the run: it is used only if it has the tables, views and triggers of this
version, and no others. One thread at a time uses the connection.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from safegain.runs.folder import RunError


class StoreError(RunError):
    """The file cannot be read or written: what was sent may be right, and can be sent again."""


class AddedOnly:
    """A connection to the file; `schema` is what makes it, and `what` says in a word what it holds."""

    def __init__(self, file: Path, schema: str, version: int, what: str):
        self.file = file
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise StoreError(f"{file}: is a link or not a file; move it away")
        with self.readable():
            # Autocommit: a transaction is begun where it is needed.
            self._base = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=10)
            self._base.execute("PRAGMA trusted_schema = OFF")
            found_version = self._base.execute("PRAGMA user_version").fetchone()[0]
            if found_version > version:
                raise StoreError(
                    f"{file}: has format {found_version}, but this version reads {version}; install a newer Safegain"
                )
            found = _shape(self._base)
            if found and found != _own_shape(schema):
                raise StoreError(f"{file}: does not hold {what} of this version; move it away")
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
            if not found:
                self._base.executescript(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {version}; COMMIT;")

    def close(self) -> None:
        self._base.close()

    def ask(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self.readable():
            return self._base.execute(query, values).fetchall()

    def add(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        """Within a transaction."""
        self._base.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.readable():
            self._base.execute("BEGIN IMMEDIATE")  # from here on nobody else writes
            try:
                yield
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:  # of a full disk, SQLite has rolled back by itself
                    self._base.execute("ROLLBACK")
                raise

    @contextmanager
    def readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.file}: cannot be used ({error}); check that the disk has room and that you own the file"
            ) from None


def never_changed(table: str) -> str:
    """Triggers that keep rows of a table as they are."""
    said = f"BEGIN SELECT RAISE(ABORT, '{table} are only ever added'); END;"
    return f"""
CREATE TRIGGER IF NOT EXISTS never_changed BEFORE UPDATE ON {table}
    {said}
CREATE TRIGGER IF NOT EXISTS never_removed BEFORE DELETE ON {table}
    {said}
"""


def _shape(base: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """All that a file has besides rows: a trigger or view of somebody else's would run as soon as it is used."""
    return sorted(base.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"), key=repr)


@cache
def _own_shape(schema: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(schema)
        return _shape(base)
