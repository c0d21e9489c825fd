"""Files that a killed command cannot spoil: pages are written whole, tables grow by whole lines."""

import fcntl
import os
from pathlib import Path

from safegain.data.files import written


def write_whole(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path) as beside:
        beside.write_text(text, encoding="utf-8")


def append_line(path: Path, line: str) -> None:
    """Add a line with one write and flush it to the disk. Several commands may append to one file at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = f"{line}\n".encode()
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)  # until the file is closed
        _cut_half_a_line(handle)
        if os.write(handle, data) < len(data):
            raise OSError(f"{path}: only a part of the line could be written; is the disk full?")
        os.fsync(handle)
    finally:
        os.close(handle)


def _cut_half_a_line(handle: int) -> None:
    """What a killed command left behind: the next line would be glued to it, and both would be lost."""
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.ftruncate(handle, os.pread(handle, size, 0).rfind(b"\n") + 1)
