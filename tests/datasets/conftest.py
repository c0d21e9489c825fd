"""Folders and settings of these tests."""

from types import SimpleNamespace

import pytest


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch) -> None:
    """The local server is asked directly."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def empty_folders(tmp_path, monkeypatch) -> SimpleNamespace:
    """A data folder and a cache with nothing in them."""
    folders = SimpleNamespace(data=tmp_path / "data", cache=tmp_path / "cache")
    folders.data.mkdir()
    monkeypatch.setenv("SAFEGAIN_DATA", str(folders.data))
    monkeypatch.setenv("SAFEGAIN_CACHE", str(folders.cache))
    return folders
