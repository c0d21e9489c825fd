"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none, and takes rights to make a link


@contextmanager
def written(file: Path) -> Iterator[Path]:
    """A new file beside `file` to write to, which then takes its place, whole and on the disk."""
    # A name that nobody can foresee, made here and now: no link that lies in wait is followed, no file is lost.
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o666))
    try:
        yield beside
        with open(beside, "rb+") as whole:
            os.fsync(whole.fileno())
        os.replace(beside, file)
    finally:
        beside.unlink(missing_ok=True)
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders; it writes names down by itself
        return
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
