"""One at a time: fits, tests and proofs write into a run folder only while nobody else does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from safegain.runs.folder import RunError

LOCK = ".lock"


@contextmanager
def locked(folder: Path, *, seconds: float = 0) -> Iterator[None]:
    """Nobody else is at work in the folder. The lock ends with the process; the file that carries it is then nobody's.

    The file goes while the lock is held: who has opened it already finds that it has no name any more, and tries anew.
    Whoever has it is waited for so many `seconds`.
    """
    if not os.access(folder, os.W_OK):
        raise RunError(f"{folder}: cannot be written to; allow it, or give another folder")
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise RunError(
            f"{folder}: another fit or certificate is at work there; wait for it, or give another folder"
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that is open
            (folder / LOCK).unlink()
        lock.release()
