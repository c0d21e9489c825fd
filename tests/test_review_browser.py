"""The review page in a real browser: keys, two tabs, a server that is killed, hostile text, and how it looks."""

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
from urllib.parse import urlsplit

import pandas as pd
import pytest
import uvicorn

from safegain.review import create_app
from tests.browser import chromium, needs_browser, watched
from tests.run_folders import make_run

SHOTS = Path(os.environ.get("SAFEGAIN_SCREENSHOTS", "build/screenshots"))
SERVER = """
import sys
from pathlib import Path
from safegain.review import serve
serve(Path(sys.argv[1]), announce=lambda url: print(url, flush=True))
"""

pytestmark = needs_browser


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


@pytest.fixture(scope="module")
def browser():
    with chromium() as context:
        yield context.browser


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


@pytest.fixture
def open_tab(browser):
    contexts = []

    def open_one(url: str, **settings) -> Tab:
        contexts.append(browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **settings}))
        return Tab(contexts[-1], url)

    yield open_one
    for context in contexts:
        context.close()


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


def test_twenty_rows_by_keyboard_and_a_server_that_is_killed(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    frame = labels(folder)
    issues = frame[(frame.suspicion > 0) & ~frame.trusted].sort_values(["suspicion", "confidence"], ascending=False)
    rows = issues.index[:20].tolist()
    with process(folder) as server:
        tab = open_tab(server.url)
        tab.press("a", "Enter", "k", "s", "z", "k", "1", "2", "3", "ArrowRight", "ArrowLeft", "a", "a", "a")
        tab.saved(10)
        assert tab.wrong == []
        server.kill()
        tab.press("a")  # the eleventh, which nobody takes
        tab.page.wait_for_selector("#banner:not([hidden])")
        assert f"row {rows[10]}" in tab.text("#banner")
        assert tab.text("#saved") == "1 not saved yet"
        assert len(decisions(folder)) == 12
        with process(folder) as again:
            assert again.port == server.port  # a folder has its usual port
            assert again.url != server.url
            tab.page.wait_for_function("() => document.getElementById('banner').textContent.includes('anew')")
            assert tab.text("#saved") == "1 not saved yet"
            tab.page.goto(again.url)  # only what follows the # is new: the tab stays, and sends it
            tab.saved(11)
            assert tab.page.is_hidden("#banner")
            tab.press(*["a"] * 9)
            tab.saved(20)
            fresh = open_tab(again.url)
            fresh.saved(20)
            assert fresh.text(".subject h2").startswith(f"Row {issues.index[20]}")
            assert fresh.wrong == []
    verdicts = dict.fromkeys(rows, "accept") | {rows[2]: "keep", rows[3]: "keep"}
    expected = {row: issues.loc[row, {"accept": "suggested", "keep": "given"}[verdicts[row]]] for row in rows}
    expected |= dict(zip(rows[4:7], ["cat", "dog", "otter"], strict=True))
    found = {row: label for row, verdict, label in decisions(folder)}
    assert {row: json.loads(label) for row, label in found.items()} == expected


def test_two_tabs_do_not_overwrite_each_other(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        one, two = open_tab(url), open_tab(url)
        row = int(one.page.inner_text(".subject h2").split()[1])
        given, suggested = labels(folder).loc[row, ["given", "suggested"]]
        two.page.route("**/api/changes*", lambda route: route.abort())  # it has not heard of it when it decides
        one.press("k")
        one.saved(1)
        two.press("a")
        two.page.wait_for_selector("#conflict[open]")
        shot(two, "conflict")
        assert f"Kept “{given}”" in two.text("#theirs")
        two.press("Enter")  # leave it so
        assert [(verdict, json.loads(label)) for _, verdict, label in decisions(folder)] == [("keep", given)]
        two.page.unroute("**/api/changes*")
        two.saved(1)
        two.press("ArrowLeft", "a")  # now it knows
        two.saved(1)
        assert json.loads(decisions(folder)[-1][2]) == suggested
        one.press("ArrowLeft")
        one.page.wait_for_selector(f".badge.accept:has-text('{suggested}')")  # and so does the other, by itself
        assert one.wrong == []


def test_an_undo_does_not_overwrite_another_tab(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        one, two = open_tab(url), open_tab(url)
        row = int(one.page.inner_text(".subject h2").split()[1])
        one.press("k")
        one.saved(1)
        two.page.wait_for_selector(".badge.keep")  # it knows, and decides otherwise
        two.press("a")
        two.page.wait_for_function("() => document.getElementById('saved').textContent === 'all saved'")
        one.press("ArrowLeft")
        one.page.wait_for_selector(".badge.accept")  # the first one knows, too
        one.press("z")
        one.page.wait_for_selector("#conflict[open]")
        assert f"Row {row} was decided in another tab meanwhile: Accepted" in one.text("#theirs")
        one.press("Enter")  # leave it so
        one.page.wait_for_selector(".badge.accept")
        assert [verdict for _, verdict, _ in decisions(folder)] == ["keep", "accept"]
        one.press("k", "s", "z")  # what it decides from now on is its own again
        one.page.wait_for_selector("#said:has-text('undone')")
        one.saved(1)
        one.press("z")
        one.page.wait_for_selector(".badge.accept")
        one.saved(1)
        assert not one.page.is_visible("#conflict")
        of_row = [verdict for other, verdict, _ in decisions(folder) if other == row]
        assert of_row == ["keep", "accept", "keep", "accept"]


def test_own_decisions_on_one_row_are_undone_one_by_one(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        tab = open_tab(url)
        tab.press("k", "ArrowLeft", "a", "z", "z")
        tab.saved(0)
        assert not tab.page.is_visible("#conflict")
        assert [verdict for _, verdict, _ in decisions(folder)] == ["keep", "accept", "keep", "undo"]


def test_a_decision_is_unsaved_from_the_key_on(tmp_path, open_tab):
    with serving(make_run(tmp_path / "run")) as url:
        tab = open_tab(url)
        press = "document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k' }))"
        assert tab.page.evaluate(f"{press}, document.getElementById('saved').textContent") == "1 not saved yet"
        tab.saved(1)


def test_what_a_full_disk_does_not_take_is_kept_and_sent_again(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        tab = open_tab(url)
        row = tab.page.inner_text(".subject h2").split()[1]
        full = {"status": 503, "json": {"error": "review.sqlite: cannot be used (database or disk is full)"}}
        tab.page.route("**/api/decide", lambda route: route.fulfill(**full))
        tab.press("a", "k", "a")
        tab.page.wait_for_selector("#banner:has-text('disk is full')")
        tab.page.wait_for_selector("#saved:has-text('3 not saved yet')")
        assert f"kept in this tab: row {row}: Accepted" in tab.text("#banner")
        tab.press("f")
        tab.page.wait_for_selector("#finish[open]")
        assert tab.text("#written") == "Nothing has been checked yet. Not saved yet, and left out: 3."
        tab.press("Escape")
        tab.page.unroute("**/api/decide")
        tab.saved(3)
        assert tab.page.is_hidden("#banner")
    assert [verdict for _, verdict, _ in decisions(folder)] == ["accept", "keep", "accept"]


def cards(tab: Tab) -> list[str]:
    return tab.page.eval_on_selector_all(".grid .card", "cards => cards.map((card) => card.dataset.row)")


def test_the_next_rows_are_asked_for_once(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        tab, held = open_tab(url), []
        tab.page.route("**/api/rows?*", lambda route: held.append(route))
        tab.press("g", *["ArrowRight"] * 63)  # the 60th row, and three on
        tab.page.wait_for_timeout(100)
        for route in held:
            route.continue_()
        tab.page.wait_for_selector(".card >> nth=60")
        tab.page.wait_for_timeout(100)
        assert len(cards(tab)) == len(set(cards(tab)))
        assert len(held) == 1
        assert tab.page.evaluate("document.activeElement.dataset.row") == cards(tab)[63]


@pytest.mark.parametrize("first", ["old", "new"])
def test_rows_of_an_earlier_filter_come_too_late(tmp_path, open_tab, first):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        tab, held = open_tab(url), []
        tab.press("g")
        tab.page.route("**/api/rows?*", lambda route: held.append(route))
        tab.page.click(".more")
        tab.page.select_option("[name=given]", label="dog")
        with tab.page.expect_request("**/api/rows?*given=1*"):
            pass
        tab.page.click(".more")  # of the old list, which is still there
        tab.page.wait_for_timeout(100)
        for route in held if first == "old" else reversed(held):
            with tab.page.expect_response("**/api/rows?*"):
                route.continue_()
            tab.page.wait_for_timeout(50)
        assert set(tab.page.locator(".grid .label.given").all_inner_texts()) == {"dog"}
        assert len(cards(tab)) == len(set(cards(tab)))


def test_a_slow_beginning_begins_once(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        tab, held = open_tab(url), []
        tab.page.route("**/api/about", lambda route: held.append(route))
        tab.page.reload()
        tab.page.evaluate("dispatchEvent(new Event('hashchange'))")  # asks again, as the next poll does
        tab.page.wait_for_timeout(100)
        for route in held:
            route.continue_()
        tab.page.wait_for_selector(".subject")
        assert tab.page.locator("[name=order] option").count() == 4
        assert len(held) == 1


def test_grid_filters_search_help_and_finish(tmp_path, open_tab):
    folder = with_command(make_run(tmp_path / "run", pictures=True))
    (folder / "report.html").write_text("<script>document.title = 'ran'</script><h1>Report</h1>")
    frame = labels(folder)
    with serving(folder) as url:
        tab = open_tab(url)
        tab.page.wait_for_selector(".why .card >> nth=2")
        shot(tab, "single")
        tab.press("g", "ArrowRight", "a", "ArrowDown", "k")
        tab.saved(2)
        assert tab.page.locator(".grid .card").count() == 60
        shot(tab, "grid")
        tab.page.select_option("[name=given]", label="dog")
        tab.page.wait_for_function("() => document.querySelectorAll('.grid .label.given').length < 60")
        assert set(tab.page.locator(".grid .label.given").all_inner_texts()) == {"dog"}
        tab.page.focus("main")
        tab.press("Escape", "/")
        tab.page.keyboard.type("town 1")
        tab.page.wait_for_function("() => document.querySelectorAll('.grid .card').length < 20")
        tab.press("Enter", "g", "?")
        tab.page.wait_for_selector("#help[open]")
        assert "only “A random sample” gives that" in tab.text("#help")
        shot(tab, "help")
        tab.press("Escape", "f")
        tab.page.wait_for_selector("#finish[open]")
        assert "2 checked rows were written" in tab.text("#written")
        assert f"--checked {folder}/trusted.parquet" in tab.text("#command")
        shot(tab, "finish")
        with tab.page.context.expect_page() as opened:
            tab.page.click("#verdicts a")
        assert opened.value.inner_text("h1") == "Report"
        assert opened.value.title() != "ran"
        assert opened.value.evaluate("window.origin") == "null"  # an origin of its own: it can ask this page nothing
        assert tab.wrong == []
    assert len(pd.read_parquet(folder / "trusted.parquet")) == 2
    assert frame.trusted.sum() == 60


FIT = """
import shutil, sys, time
print("fitting: 3 of 9 candidates", flush=True)
time.sleep(2)
shutil.copytree(sys.argv[1], sys.argv[sys.argv.index("--out") + 1])
"""


def test_fit_again_from_the_page(tmp_path, open_tab, monkeypatch):
    folder = with_command(make_run(tmp_path / "run"))
    start = subprocess.Popen

    def popen(command, **settings):
        return start([sys.executable, "-c", FIT, str(folder), *command[5:]], **settings)

    with serving(folder) as url:
        tab = open_tab(url)
        tab.press("a", "a")
        tab.saved(2)
        monkeypatch.setattr("safegain.review.refit.subprocess.Popen", popen)
        tab.press("f")
        tab.page.click("#refit")
        tab.page.wait_for_selector("#verdicts pre:has-text('3 of 9')")
        assert tab.page.is_disabled("#refit")
        tab.page.wait_for_selector("#verdicts h3:has-text('After your checks')")
        assert tab.page.locator("#verdicts p:has-text('Certified at level')").count() == 2
        shot(tab, "fitted")
        assert tab.page.is_enabled("#refit")
        assert tab.wrong == []


def test_a_number_is_typed(tmp_path, open_tab):
    folder = make_run(tmp_path / "run", task="numbers")
    with serving(folder) as url:
        tab = open_tab(url, viewport={"width": 900, "height": 900}, color_scheme="dark")
        tab.page.wait_for_selector(".why")
        shot(tab, "numbers-dark")
        tab.page.keyboard.type("12.5")
        tab.press("Enter", "k")
        tab.saved(2)
        assert [verdict for _, verdict, _ in decisions(folder)] == ["other", "keep"]
        assert json.loads(decisions(folder)[0][2]) == 12.5
        assert tab.wrong == []


def test_many_classes_are_searched(tmp_path, open_tab):
    folder = make_run(tmp_path / "run", words=[f"kind {i}" for i in range(40)])
    with serving(folder) as url:
        tab = open_tab(url)
        tab.press("o")
        tab.page.keyboard.type("ND 34")
        tab.press("Enter", "s")
        tab.saved(1)
        assert [(verdict, label) for _, verdict, label in decisions(folder)] == [("other", '"kind 34"'), ("skip", None)]
        assert tab.wrong == []


HOSTILE = [
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg onload=window.hacked=1>",
    '"><script>window.hacked=1</script>',
    "'><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "</textarea><script>alert(1)</script>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
    "<object data='javascript:alert(1)'>",
    "<embed src='http://evil.example/x'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>@import 'http://evil.example/x';</style>",
    "<meta http-equiv=refresh content='0;url=http://evil.example'>",
    "<base href='http://evil.example/'>",
    "<form action=http://evil.example><button>",
    "<img src=http://evil.example/pixel.png>",
    "${alert(1)}",
    "{{constructor.constructor('alert(1)')()}}",
    "`${window.hacked=1}`",
    "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "'; DROP TABLE decisions; --",
    '"; rm -rf / #',
    "$(touch /tmp/hacked)",
    "=cmd|'/c calc'!A0",
    "@SUM(1+1)",
    "../../../etc/passwd",
    "\u202egnp.exe",
    "\u0000nul",
    "\r\nX-Injected: 1",
    "a\u0300" * 50,
    "𝕏" * 20,
    "long" * 500,
    " ",
]


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_nothing_in_a_table_is_ever_run(tmp_path, open_tab, task):
    assert len(HOSTILE) == len(set(HOSTILE)) == 50
    folder = make_run(tmp_path / "run", words=HOSTILE, task=task, n=200)
    with serving(folder) as url:
        tab = open_tab(url)
        tab.press("Enter", "k", "g", "a", "ArrowDown", "g", "ArrowRight")
        n = 3
        tab.saved(n)
        for _ in range(25):
            tab.press("ArrowRight")
            tab.page.wait_for_timeout(20)
        tab.page.wait_for_selector(".why")
        shot(tab, f"hostile-{task}")
        if task == "classes":
            tab.press("o")
            tab.page.keyboard.type("script")
            tab.page.wait_for_selector(".found button")
            tab.press("Enter")
            n += 1
        tab.saved(n)
        tab.press("f")
        tab.page.wait_for_selector("#finish[open]")
        assert tab.page.evaluate("window.hacked") is None
        assert tab.page.locator("main script, main iframe, main svg, main a, main style, dialog img").count() == 0
        assert tab.wrong == []
        hosts = {urlsplit(asked).netloc for asked in tab.watched.requests if not asked.startswith("data:")}
        assert hosts == {urlsplit(url).netloc}
    found = pd.read_parquet(folder / "trusted.parquet")
    assert len(found) == n
    assert set(found.columns) == {"_row", "id", HOSTILE[0]}
    if task == "classes":
        assert set(found[HOSTILE[0]]) <= set(HOSTILE)
