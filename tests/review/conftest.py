"""A run, and the page that shows it."""

import pytest

from tests.browser import chromium
from tests.review.client import opened
from tests.review.tabs import Tab
from tests.run_folders import make_run


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path / "run")


@pytest.fixture
def client(folder):
    with opened(folder) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    with chromium() as context:
        yield context.browser


@pytest.fixture
def open_tab(browser):
    contexts = []

    def open_one(url: str, **settings) -> Tab:
        contexts.append(browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **settings}))
        return Tab(contexts[-1], url)

    yield open_one
    for context in contexts:
        context.close()
