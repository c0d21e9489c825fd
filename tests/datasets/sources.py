"""Where data sets come from: a folder of real files, or a server of one file."""

import contextlib
import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = os.environ.get("SAFEGAIN_DATA", "")
real_data = pytest.mark.skipif(
    not (Path(FOLDER) / "mnist.npz").is_file(), reason="mnist.npz not found: set SAFEGAIN_DATA to the folder of data"
)


CONTENT = np.random.default_rng(0).bytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@contextlib.contextmanager
def server(*, ranges: bool = True, cut: int | None = None, content: bytes = CONTENT) -> Iterator[SimpleNamespace]:
    """A server of one file; with `cut` it promises everything and hangs up after so many bytes."""
    asked: list[str | None] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Range"])
            start = int(asked[-1].removeprefix("bytes=").rstrip("-")) if ranges and asked[-1] else 0
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:] if cut is None else content[start:cut])

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield SimpleNamespace(url=f"http://127.0.0.1:{listening.server_port}/file", asked=asked)
        finally:
            listening.shutdown()
            thread.join()
