"""The review page in tabs of a real browser."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import uvicorn

from safegain.review import create_app
from tests.browser import watched

SHOTS = Path(os.environ.get("SAFEGAIN_SCREENSHOTS", "build/screenshots"))
SERVER = """
import sys
from pathlib import Path
from safegain.review import serve
serve(Path(sys.argv[1]), announce=lambda url: print(url, flush=True))
"""


class Server:
    """The page as a process of its own."""

    def __init__(self, folder: Path):
        command = [sys.executable, "-c", SERVER, str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.split(":")[2].split("/")[0])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def process(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The page's URL, without a process of its own: importing takes longer than most of these tests."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(create_app(folder, "token", port=port), log_level="critical"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/#token"
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


class Tab:
    """A tab with the page, and how a person uses it."""

    def __init__(self, context, url: str):
        self.watched = watched(context)
        self.page = self.watched.page
        self.page.goto(url)
        self.page.wait_for_selector(".subject, .grid, .end")

    @property
    def wrong(self) -> list[str]:
        return self.watched.messages + self.watched.dialogs

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def saved(self, n: int) -> None:
        self.page.wait_for_function(
            "n => document.getElementById('saved').textContent === 'all saved' &&"
            " document.getElementById('progress').textContent.startsWith(`${n} of`)",
            arg=n,
            timeout=10_000,
        )

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


def decisions(folder: Path) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as base:
        return base.execute("SELECT row, verdict, label FROM decisions ORDER BY number").fetchall()


def labels(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "labels-1-of-1.parquet").set_index("row")


def with_command(folder: Path) -> Path:
    """As `safegain fit` leaves it: it can be fitted again."""
    command = ["fit", "cat.csv", "--label", "animal", "--out", str(folder)]
    (folder / "request.json").write_text(json.dumps({"command": command}))
    return folder


def shot(tab: Tab, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    tab.page.screenshot(path=SHOTS / f"review-{name}.png")
