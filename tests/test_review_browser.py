"""The review page in a real browser: keys, two tabs, a server that is killed, hostile text, and how it looks."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SHOTS = Path(os.environ.get("SAFEGAIN_SCREENSHOTS", "build/screenshots"))
SERVER = """
import sys
from pathlib import Path
from safegain.review import serve
serve(Path(sys.argv[1]), port=int(sys.argv[2]), announce=lambda url: print(url, flush=True))
"""

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")


class Server:
    """The page as a process of its own."""

    def __init__(self, folder: Path, port: int = 0):
        command = [sys.executable, "-c", SERVER, str(folder), str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.split(":")[2].split("/")[0])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@contextlib.contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[Server]:
    server = Server(folder, port)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=[*QUIET, "--disable-sync"])
        yield browser
        browser.close()


class Watched:
    """A tab, and everything that it should not do."""

    def __init__(self, context, url: str):
        self.page = context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        self.page.wait_for_selector(".subject, .grid, .end")

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


@pytest.fixture
def open_tab(browser):
    contexts = []

    def open_one(url: str, **settings) -> Watched:
        contexts.append(browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **settings}))
        return Watched(contexts[-1], url)

    yield open_one
    for context in contexts:
        context.close()


def decisions(folder: Path) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as base:
        return base.execute("SELECT row, verdict, label FROM decisions ORDER BY number").fetchall()
