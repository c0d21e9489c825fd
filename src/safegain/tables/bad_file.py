"""What is said of a file that cannot be used."""

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class BadFile(ValueError):
    """A file that cannot be used. One line: its path, then the line or column, what was found, what to do."""

    def __init__(self, message: str) -> None:
        # Names and values come from the file: a newline or an escape code in them must not reach a terminal.
        super().__init__(printable(message))


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(value: Any, most: int = 60) -> str:
    """A value as it stands in a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 4]}...{text[0] if text[0] in chr(34) + chr(39) else ''}"


def listed(names: Iterable[str], most: int = 10) -> str:
    """'a', 'b', 'c' and 7 more"""
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + rest


def no_column(path: Path, name: str, names: Iterable[str]) -> BadFile:
    names = list(names)
    close = difflib.get_close_matches(name, names[:1000], n=3)
    meant = f"did you mean {' or '.join(map(shown, close))}? " if close else ""
    return BadFile(f"{path}: has no column {shown(name)}; {meant}it has {listed(names)}")
