"""The page in a real browser: grid, dialogs, numbers, hostile text, and how it looks."""

import json
import subprocess
import sys
from urllib.parse import urlsplit

import pandas as pd
import pytest

from tests.browser import needs_browser
from tests.review.tabs import decisions, labels, serving, shot, with_command
from tests.run_folders import make_run

pytestmark = needs_browser


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
        assert "only “A random sample” gives you that" in tab.text("#help")
        shot(tab, "help")
        tab.press("Escape", "f")
        tab.page.wait_for_selector("#finish[open]")
        assert "Wrote 2 checked rows to" in tab.text("#written")
        assert f"--checked {folder}/trusted.parquet" in tab.text("#command")
        shot(tab, "finish")
        with tab.page.context.expect_page() as opened:
            tab.page.click("#verdicts a")
        assert opened.value.inner_text("h1") == "Report"
        assert opened.value.title() != "ran"
        assert opened.value.evaluate("window.origin") == "null"  # an origin of its own: it can ask this page nothing
        assert tab.wrong == []
    assert len(pd.read_parquet(folder / "trusted.parquet")) == 2
    pd.testing.assert_frame_equal(labels(folder), frame)  # the run's own labels stay as they were


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
    assert set(found.columns) == {"_row", "_sample", "id", HOSTILE[0]}
    if task == "classes":
        assert set(found[HOSTILE[0]]) <= set(HOSTILE)
