"""Opening files: what can be said of one before it is parsed, and its lines of text."""

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from safegain.tables.bad_file import BadFile

SUFFIXES = (".csv", ".tsv", ".parquet", ".npz", ".jsonl", ".ndjson")
_PACKED = (".csv", ".tsv", ".jsonl", ".ndjson")  # may have .gz behind
_UTF8 = "save it as CSV UTF-8 (in Excel: Save As, CSV UTF-8)"


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """What the system says, in a line of ours."""
    try:
        yield
    except FileNotFoundError:
        raise BadFile(f"{path}: no such file or folder; check the path") from None
    except PermissionError:
        raise BadFile(f"{path}: you may not read this file; ask its owner for permission") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadFile(f"{path}: is not a complete gzip file ({error}); compress it again, or unpack it") from None
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    except ValueError as error:
        if "null byte" not in str(error) and "null character" not in str(error):
            raise
        raise BadFile(f"{path}: is not a path; check it") from None


def digest_of(path: Path) -> str:
    """sha256 of a file, or of all files of a folder in their order; of what is not there, nothing."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    total = hashlib.sha256()
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def suffix_of(path: Path) -> str:
    """The kind of file, by its name: .csv for table.csv and table.csv.gz."""
    inner = Path(path.stem).suffix.lower()
    suffix = inner if path.suffix.lower() == ".gz" and inner in _PACKED else path.suffix.lower()
    if suffix in SUFFIXES:
        return suffix
    excel = "; save the sheet as CSV UTF-8" if suffix in (".xlsx", ".xls", ".ods") else ""
    raise BadFile(f"{path}: this type of file is not supported; use one of {' '.join(SUFFIXES)}{excel}")


def is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def check_file(path: Path) -> None:
    """A file that can be opened, neither a folder nor a device, and not empty."""
    with readable(path):
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            raise BadFile(
                f"{path}: is a folder; name a file in it (only a folder of *.parquet files counts as a table)"
            )
        if not stat.S_ISREG(found.st_mode):
            raise BadFile(f"{path}: is not a regular file; copy its content into one")
        with open(path, "rb") as file:
            file.read(1)
    if not found.st_size:
        raise BadFile(f"{path}: is empty; export it again")


def opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if is_packed(path) else open(path, "rb")  # type: ignore[return-value]


def check_text(path: Path) -> bool:
    """Whether the file may hold a quote that is never closed; an error if it cannot be UTF-8 text at all."""
    check_file(path)
    quotes = lines = 0
    with readable(path), opened(path) as file:
        _check_beginning(path, start := file.read(8))
        chunk = start
        while chunk:
            if (at := chunk.find(b"\0")) >= 0:
                line = lines + _line_ends(chunk[:at]) + 1
                raise BadFile(f"{path}: line {line}: holds a NUL byte, so it is not text; {_UTF8}")
            quotes += chunk.count(b'"')
            following = file.read(1 << 20)
            split = chunk.endswith(b"\r") and following.startswith(b"\n")  # one end of a line, in two chunks
            lines += _line_ends(chunk) - split
            chunk = following
    return quotes % 2 == 1


def _line_ends(chunk: bytes) -> int:
    r"""However lines end: in "\n", "\r\n" or "\r"."""
    return chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n")


def _check_beginning(path: Path, start: bytes) -> None:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadFile(f"{path}: is UTF-16 text; {_UTF8}")
    if start.startswith(b"PAR1"):
        raise BadFile(f"{path}: is a Parquet file; rename it to end in .parquet")
    if start.startswith(b"PK\x03\x04"):
        raise BadFile(f"{path}: is a zip or Excel file, not text; save the sheet as CSV UTF-8, or rename it to .npz")
    if start.startswith(b"\x1f\x8b"):
        raise BadFile(f"{path}: is compressed with gzip; rename it to end in .gz")


def lines_of(path: Path) -> Iterator[str]:
    r"""Lines with their "\n", however the file ends them; bytes that are not UTF-8 become lone surrogates."""
    with readable(path):
        mode = {"encoding": "utf-8-sig", "errors": "surrogateescape"}
        with gzip.open(path, "rt", **mode) if is_packed(path) else open(path, **mode) as file:  # type: ignore
            yield from file


def check_utf8(path: Path) -> None:
    """An error at the first line that is not UTF-8."""
    for number, line in enumerate(lines_of(path), start=1):
        if not is_utf8(line):
            raise broken_utf8(path, number)


def is_utf8(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def broken_utf8(path: Path, line: int) -> BadFile:
    return BadFile(f"{path}: line {line}: is not UTF-8 text; {_UTF8}")
