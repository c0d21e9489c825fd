"""Prove it in a real browser: keys, a server that is killed at any click, two tabs, and how it looks."""

import json
import os
import queue
import random
import signal
import time

from safegain.review import serve
from safegain.runs.folder import open_run
from safegain.runs.proof import opened_proof
from tests.browser import needs_browser
from tests.processes import SERVER, forked
from tests.proofs import make_proof, new_says, old_says
from tests.review.tabs import Tab, serving, shot
from tests.run_folders import make_run

pytestmark = needs_browser
CLICKS = int(os.environ.get("SAFEGAIN_MOMENTS", "0")) * 5 or 5  # at which the server is killed; `make killed`: 20


def proving(url: str) -> str:
    return url.replace("/#", "/prove#")


def given(tab: Tab, n: int) -> None:
    tab.page.wait_for_function(
        "n => document.getElementById('saved').textContent === 'all saved' &&"
        " document.getElementById('progress').textContent.startsWith(`${n} of`)",
        arg=n,
        timeout=20_000,
    )


def test_labels_by_keyboard_until_it_is_certified(tmp_path, open_tab):
    folder = make_proof(make_run(tmp_path / "run", pictures=True))
    with serving(folder) as url:
        tab = open_tab(proving(url))
        shot(tab, "prove-first")
        assert tab.page.is_disabled(".choice.main")
        tab.press("Enter")  # nothing is chosen yet
        tab.press("s", "Escape", str(1 + new_says(folder, 0)))
        assert tab.page.locator(".picked").count() == 1
        given(tab, 0)  # a choice is no label
        tab.press("Enter")
        given(tab, 1)
        for place in range(1, 5):
            outcome = old_says if place == 2 else new_says
            tab.press(str(1 + outcome(folder, place)), "Enter")
            given(tab, place + 1)
        shot(tab, "prove-five")
        assert "about" in tab.text("#progress")
        for place in range(5, 11):
            tab.page.click(f".classes button >> nth={new_says(folder, place)}")
            tab.page.click(".choice.main")
            given(tab, place + 1)
        tab.page.wait_for_selector(".end:has-text('Certified')")
        shot(tab, "prove-certified")
        assert tab.page.locator(".curve polyline").get_attribute("points").count(",") == 12
        assert "null" not in tab.text("body")
        assert tab.wrong == []
        tab.page.click("#to-review")
        tab.page.wait_for_selector("#filters")
        tab.page.wait_for_selector(".subject")  # the token came along
        tab.page.click("#to-prove")
        tab.page.wait_for_selector(".end:has-text('Certified')")
    assert json.loads((folder / "certificate-1.json").read_text())["certified"]


def test_two_tabs_label_each_row_once(tmp_path, open_tab):
    folder = make_proof(make_run(tmp_path / "run"))
    with serving(folder) as url:
        one, two = open_tab(proving(url)), open_tab(proving(url))
        two.page.route("**/api/proof", lambda route: route.abort())  # it has not heard of it when it decides
        one.press("1", "Enter")
        given(one, 1)
        two.press("2", "Enter")
        two.page.wait_for_selector("#said:has-text('was labelled in another tab')")
        two.page.unroute("**/api/proof")
        given(two, 1)
        two.press("2", "Enter")
        given(two, 2)
        given(one, 2)  # by itself
    proof = opened_proof(open_run(folder))
    assert proof.stream.labels == ["cat", "dog"]
    proof.close()


def test_without_a_pool_the_page_says_how_to_give_one(tmp_path, open_tab):
    folder = make_run(tmp_path / "run")
    with serving(folder) as url:
        tab = open_tab(proving(url))
        assert f"safegain review {folder} --pool fresh.csv" in tab.text(".end")
        shot(tab, "prove-none")
        assert tab.wrong == []


def serve_here(folder, urls):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(folder, announce=urls.put)


class Killable:
    """The page in a process that can be killed at any moment, and started again."""

    def __init__(self, folder):
        self.folder, self.urls = folder, SERVER.Queue()
        self.start()

    def start(self):
        self.process = forked(serve_here, self.folder, self.urls)
        try:
            self.url = self.urls.get(timeout=60)
        except queue.Empty:
            raise AssertionError("the server did not start") from None

    def kill(self):
        self.process.kill()
        self.process.join()


def test_a_server_killed_at_random_clicks_loses_none_of_them(tmp_path, open_tab):
    """The same labels without any kill lead to the same certificate."""
    folder, calm = (make_proof(make_run(tmp_path / name), differing=200) for name in ("run", "calm"))
    chance = random.Random(int(time.time()))
    wins = [chance.random() < 0.56 for _ in range(CLICKS)]
    server = Killable(folder)
    tab = open_tab(proving(server.url))
    for place, wins_it in enumerate(wins):
        tab.press(str(1 + (new_says if wins_it else old_says)(folder, place)))
        when = chance.choice(["before", "during", "after"])
        if when == "before":
            server.kill()
        tab.press("Enter")
        if when == "during":
            time.sleep(chance.random() * 0.05)
            server.kill()
        if when == "after":
            given(tab, place + 1)
            server.kill()
        server.start()
        tab.page.goto(proving(server.url))  # only what follows the # is new: the tab stays, and sends what it has
        given(tab, place + 1)
    server.kill()
    unhurt = opened_proof(open_run(calm))
    for place, wins_it in enumerate(wins):
        unhurt.add(place, unhurt.classes[(new_says if wins_it else old_says)(calm, place)], "tab")
    hurt = opened_proof(open_run(folder))
    assert hurt.certificate == unhurt.certificate
    assert len(hurt.stream.labels) == CLICKS
    hurt.close()
    unhurt.close()
