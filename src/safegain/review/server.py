"""The page on a port of this machine."""

import contextlib
import secrets
import socket
import webbrowser
import zlib
from collections.abc import Callable
from pathlib import Path

import uvicorn

from safegain.review.app import create_app

ADDRESS = "127.0.0.1"


def serve(folder: Path, *, port: int = 0, open_browser: bool = False, announce: Callable[[str], None]) -> None:
    """Show the run in `folder` until interrupted; `announce` gets the URL. Port 0: one that is free."""
    with contextlib.closing(_listening(port, folder)) as listening:
        port, token = listening.getsockname()[1], secrets.token_urlsafe(32)
        app = create_app(folder, token, port=port)
        config = uvicorn.Config(
            app, log_level="warning", server_header=False, proxy_headers=False, timeout_graceful_shutdown=1
        )
        url = f"http://{ADDRESS}:{port}/#{token}"
        announce(url)  # connections wait from here on
        if open_browser:
            webbrowser.open(url)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


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
