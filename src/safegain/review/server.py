"""The page on a port of this machine."""

import contextlib
import secrets
import socket
import tempfile
import webbrowser
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from safegain.review.app import create_app

ADDRESS = "127.0.0.1"


def serve(
    folder: Path,
    *,
    port: int = 0,
    open_browser: bool = False,
    announce: Callable[[str], None],
    proof: int | None = None,
    certified: Callable[[Path], Any] = lambda folder: None,
) -> None:
    """Show the run in `folder` until interrupted; `announce` gets the URL. Port 0: one that is free.

    `proof` is the number of the one that goes on; None: labels to review. `certified` gets the folder whenever a
    certificate was written there.
    """
    with contextlib.closing(_listening(port, folder)) as listening:
        port, token = listening.getsockname()[1], secrets.token_urlsafe(32)
        app = create_app(folder, token, port=port, certified=certified, proof=proof)
        config = uvicorn.Config(
            app, log_level="warning", server_header=False, proxy_headers=False, timeout_graceful_shutdown=1
        )
        url = f"http://{ADDRESS}:{port}/{'' if proof is None else 'prove'}#{token}"
        announce(url)  # connections wait from here on
        with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
            if open_browser:
                webbrowser.open(stack.enter_context(_leading_to(url)).as_uri())
            uvicorn.Server(config).run(sockets=[listening])


@contextlib.contextmanager
def _leading_to(url: str) -> Iterator[Path]:
    """A file of this user's alone that leads to the page: a browser's command line is there for all to see."""
    with tempfile.TemporaryDirectory(prefix="safegain-") as folder:
        file = Path(folder) / "review.html"
        file.touch(mode=0o600)
        file.write_text(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={url}">')
        yield file


def _listening(port: int, folder: Path) -> socket.socket:
    """Of the free ports, the one that this folder had the last time, if it can be had: a page that was left open with
    unsent decisions then only needs the new token."""
    usual = 20_000 + zlib.crc32(str(Path(folder).resolve()).encode()) % 10_000
    for one in [port] if port else [usual, 0]:
        try:
            return socket.create_server((ADDRESS, one))
        except OSError as error:
            reason = error.strerror
    raise ValueError(f"port {port}: cannot be used ({reason}); choose another, or 0 for a free one")
