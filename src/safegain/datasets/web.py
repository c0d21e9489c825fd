"""Downloads that go on where they stopped."""

import os
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from safegain.datasets.files import check_sha256

CHUNK = 1 << 16
TIMEOUT = 30.0  # seconds without a byte
RANGE_NOT_SATISFIABLE = 416
PARTIAL_CONTENT = 206


def download(url: str, path: Path, sha256: str | None = None) -> None:
    """Fetch `url` into `path`. What has arrived stays in path.part and is asked for only once.

    A broken connection raises OSError: call again to go on. A wrong checksum raises ValueError and leaves nothing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with _open(url, part) as response:
        _receive(response, part, path.name)
    if sha256 is not None:
        try:
            check_sha256(part, sha256, f"what {url} sent has been deleted: try again, or look for a newer version")
        except ValueError:
            part.unlink()
            raise
    os.replace(part, path)


def _open(url: str, part: Path) -> HTTPResponse:
    """The answer to a request for what is missing from `part`, or for everything."""
    have = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        return urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        if error.code != RANGE_NOT_SATISFIABLE:
            raise
        part.unlink()  # as long as the file, or longer: whether it is the right one cannot be told without it
        return urlopen(url, timeout=TIMEOUT)


def _receive(response: HTTPResponse, part: Path, label: str) -> None:
    # A server that does not know ranges answers 200 and sends the whole file: then the old part is overwritten.
    resumed = response.status == PARTIAL_CONTENT
    have = part.stat().st_size if resumed else 0
    total = None if response.length is None else have + response.length
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with (
        Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        part.open("ab" if resumed else "wb") as stream,
    ):
        task = progress.add_task(label, total=total, completed=have)
        try:
            while chunk := response.read(CHUNK):
                stream.write(chunk)
                progress.advance(task, len(chunk))
        except HTTPException as error:
            raise ConnectionError(f"{response.url}: {error!r}") from error
    arrived = part.stat().st_size
    if total is not None and arrived < total:
        raise ConnectionError(f"{response.url}: the connection ended after {arrived} of {total} bytes; try again")
