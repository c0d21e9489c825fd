"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written(file: Path) -> Iterator[Path]:
    """A path beside `file` to write to, which then takes its place, whole and on the disk."""
    beside = file.with_name(f".{file.name}.part")
    try:
        yield beside
        with open(beside, "rb+") as whole:
            os.fsync(whole.fileno())
        os.replace(beside, file)
    finally:
        beside.unlink(missing_ok=True)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
