"""Final sets are run from one tagged commit, unchanged."""

import subprocess

import pytest
from experiments.board.guard import refuse_final_run, refuse_without_strongest
from experiments.store import Store

from tests.experiments.board.boards import CELLS, USUAL
from tests.experiments.fakes import record


@pytest.fixture
def clone(tmp_path):
    """A repository with one commit, which has a tag, and a store inside of it."""
    root = tmp_path / "clone"
    root.mkdir()
    git(root, "init", "-q")
    (root / "old.py").write_text("x = 0")
    commit(root)
    git(root, "tag", "board-1")
    return root


def git(root, *words):
    named = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", "-C", str(root), *named, *words], check=True, capture_output=True, text=True).stdout


def commit(root):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "A change")


def refused(root, quick=False):
    store = Store(root / "experiments" / "results")
    refuse_final_run(store, "final", quick=quick, root=root)


def write_result(root, name):
    made = record(USUAL[0].run(CELLS[0], 0), accuracy=50.0) | {"versions": {"commit": name}}
    Store(root / "experiments" / "results").write(made)


def test_a_clean_tagged_commit_may_run_and_go_on(clone):
    refused(clone)
    write_result(clone, git(clone, "rev-parse", "HEAD").strip())  # what the run writes does not make it unclean
    refused(clone)


def test_whatever_is_not_as_it_must_be_is_named(clone):
    with pytest.raises(ValueError, match="rehearsal never touches"):
        refused(clone, quick=True)
    (clone / "new.py").write_text("x = 1")
    with pytest.raises(ValueError, match=r"not clean \(new.py\)"):
        refused(clone)
    commit(clone)
    with pytest.raises(ValueError, match="no tag board-"):
        refused(clone)
    git(clone, "tag", "board-2")
    refused(clone)
    write_result(clone, "0123")
    with pytest.raises(ValueError, match="results of commit 0123"):
        refused(clone)


def test_peers_are_named_before_and_git_is_needed(clone, tmp_path):
    refuse_without_strongest()
    with pytest.raises(ValueError, match="strongest peers are not named"):
        refuse_without_strongest(clone / "strongest.json")
    bare = tmp_path / "bare"
    bare.mkdir()
    with pytest.raises(ValueError, match="run from a clone"):
        refused(bare)
