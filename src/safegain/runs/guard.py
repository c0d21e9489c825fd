"""Nothing that a run folder holds is a traceback: whatever reading it leads to is a RunError."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safegain.runs.folder import RunError, damaged


@contextmanager
def distrusting(path: Path, other: str) -> Iterator[None]:
    """`path` is the file that is most likely to blame, `other` the one that it may contradict."""
    try:
        yield
    except RunError:
        raise
    except Exception as error:
        # Facts and numbers come from files, and may contradict each other in more ways than can be named.
        told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise damaged(path, f"or does not go with {other}: {told}") from error
