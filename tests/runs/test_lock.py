"""The lock of a run folder."""

import time

import pytest

from safegain.jobs.fitting import check_empty
from safegain.runs.folder import RunError
from safegain.runs.lock import locked
from tests.processes import SERVER, forked


def hold(folder, held):
    with locked(folder):
        held.set()
        time.sleep(600)


def test_a_lock_ends_with_its_process_and_what_it_leaves_is_in_nobodys_way(tmp_path):
    held = SERVER.Event()
    holder = forked(hold, tmp_path, held)
    assert held.wait(60)
    with pytest.raises(RunError, match="another fit or certificate is at work"), locked(tmp_path):
        pass
    holder.kill()
    holder.join()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    check_empty(tmp_path)
    with locked(tmp_path), pytest.raises(RunError, match="at work"), locked(tmp_path):
        pass
    assert not list(tmp_path.iterdir())


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic"), locked(tmp_path / "run"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
