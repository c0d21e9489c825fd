"""Files that a killed command cannot spoil."""

import fcntl
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from experiments.files import append_line, write_whole


def test_a_page_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    page = tmp_path / "folder" / "page.md"
    write_whole(page, "old ±")

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        write_whole(page, "new")
    assert page.read_text(encoding="utf-8") == "old ±"
    assert list(page.parent.iterdir()) == [page]


def test_a_line_is_one_write_and_on_the_disk_at_the_end(tmp_path, monkeypatch):
    table, write, sync, done = tmp_path / "table.jsonl", os.write, os.fsync, []
    monkeypatch.setattr(os, "write", lambda handle, data: done.append(data) or write(handle, data))
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("fsync") or sync(handle))
    append_line(table, "one")
    append_line(table, "two")
    assert done == [b"one\n", "fsync", b"two\n", "fsync"]
    assert table.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize(("before", "after"), [(b"", b""), (b"one\n", b"one\n"), (b"one\ntw", b"one\n"), (b"on", b"")])
def test_half_a_line_is_cut_away(tmp_path, before, after):
    table = tmp_path / "table.jsonl"
    table.write_bytes(before)
    append_line(table, "three")
    assert table.read_bytes() == after + b"three\n"


def test_a_full_disk_is_an_error_and_spoils_no_later_line(tmp_path, monkeypatch):
    table, write = tmp_path / "table.jsonl", os.write
    append_line(table, "one")
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:2]))
    with pytest.raises(OSError, match="only a part"):
        append_line(table, "two")
    monkeypatch.undo()
    append_line(table, "three")
    assert table.read_bytes() == b"one\nthree\n"


def test_a_line_waits_for_the_one_that_is_being_written(tmp_path):
    table = tmp_path / "table.jsonl"
    with open(table, "wb", buffering=0) as other, ThreadPoolExecutor(1) as pool:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b"on")
        waiting = pool.submit(append_line, table, "two")
        time.sleep(0.2)
        other.write(b"e\n")
        fcntl.flock(other, fcntl.LOCK_UN)
        waiting.result()
    assert table.read_bytes() == b"one\ntwo\n"


def test_commands_that_append_at_the_same_time_lose_nothing(tmp_path):
    table = tmp_path / "table.jsonl"
    code = (
        "import sys; from pathlib import Path; from experiments.files import append_line\n"
        "for i in range(100): append_line(Path(sys.argv[1]), f'{sys.argv[2]} {i} ' + 'x' * 5000)"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, str(table), who]) for who in "ab"]
    assert [process.wait() for process in started] == [0, 0]
    lines = table.read_text().splitlines()
    assert sorted(lines) == sorted(f"{who} {i} " + "x" * 5000 for who in "ab" for i in range(100))
