"""A real browser for tests of what people look at: the pages themselves, and whatever leaves or happens in them."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = Path("/usr/bin/chromium")
QUIETLY = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

needs_browser = pytest.mark.skipif(
    not CHROMIUM.exists() or importlib.util.find_spec("playwright") is None,
    reason=f"needs playwright and {CHROMIUM}",
)


@dataclass
class Watched:
    """A tab, and what it did that a page should not do."""

    page: Any
    requests: list[str] = field(default_factory=list)  # all addresses, that of the page itself too
    messages: list[str] = field(default_factory=list)  # console errors and warnings, uncaught errors
    dialogs: list[str] = field(default_factory=list)


@contextmanager
def chromium(**settings: Any) -> Iterator[Any]:
    """A headless browser; `settings` are for its context: viewport, color_scheme, java_script_enabled."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=[*QUIETLY, "--disable-sync"])
        try:
            yield browser.new_context(**settings)
        finally:
            browser.close()


def watched(context: Any) -> Watched:
    """A new tab that keeps account."""
    found = Watched(context.new_page())
    page = found.page
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("pageerror", lambda error: found.messages.append(str(error)))
    page.on("console", lambda m: found.messages.append(m.text) if m.type in ("error", "warning") else None)

    def dismiss(dialog: Any) -> None:
        found.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    return found
