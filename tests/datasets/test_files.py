"""Where files are looked for, and how they are written."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from safegain import datasets
from safegain.datasets import files, origins


def test_search_order_and_checksum(empty_folders, monkeypatch, tmp_path):
    monkeypatch.setitem(files.SHA256, "a.csv", hashlib.sha256(b"good").hexdigest())
    assert files.find_file("a.csv") is None
    empty_folders.cache.mkdir()
    for folder in (empty_folders.cache, empty_folders.data, tmp_path):
        (folder / "a.csv").write_bytes(b"good")
        assert files.find_file("a.csv", data_dir=tmp_path if folder == tmp_path else None) == folder / "a.csv"
    (empty_folders.data / "a.csv").write_bytes(b"bad")
    with pytest.raises(ValueError, match="sha256") as error:
        files.find_file("a.csv")
    for words in (str(empty_folders.data / "a.csv"), files.SHA256["a.csv"], hashlib.sha256(b"bad").hexdigest()):
        assert words in str(error.value)


def test_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("SAFEGAIN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / "safegain"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / ".cache" / "safegain"


def test_missing_file_without_network_says_what_to_do(empty_folders, monkeypatch):
    monkeypatch.setattr(origins, "LIBSVM", "http://127.0.0.1:9/")  # nobody listens there
    with pytest.raises(FileNotFoundError) as error:
        datasets.load_regression("abalone")
    for words in ("abalone.csv", str(empty_folders.data), str(empty_folders.cache), "SAFEGAIN_DATA", "libsvmtools"):
        assert words in str(error.value)
    with pytest.raises(FileNotFoundError, match=r"ws_youtube.jsonl.gz was not found in .* WRENCH"):
        datasets.load_text("ws_youtube")


def test_half_written_files_never_appear(tmp_path):
    def break_off(part: Path) -> None:
        part.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        files.write_atomically(tmp_path / "new" / "a.npz", break_off)
    assert list((tmp_path / "new").iterdir()) == []
    files.write_atomically(tmp_path / "new" / "a.npz", lambda part: np.savez(part, x=1))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.npz"]
