"""The page in a real browser: keys, two tabs, a server that is killed."""

import json

import pytest

from tests.browser import needs_browser
from tests.review.tabs import Tab, decisions, labels, process, serving, shot
from tests.run_folders import make_run

pytestmark = needs_browser


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
            tab.page.wait_for_function("() => document.getElementById('banner').textContent.includes('restarted')")
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
        assert f"Row {row} was decided in another tab in the meantime: Accepted" in one.text("#theirs")
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
        assert tab.text("#written") == "Nothing has been checked yet. 3 not saved yet and left out."
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
        assert ["given=1" in route.request.url for route in held] == [False, True]
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
