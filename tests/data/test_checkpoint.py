"""Runs that are killed and started again: they end with the bits of a run that was left alone."""

import errno
import json
import os
import resource
import shutil
import signal
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from sklearn.datasets import load_digits

import safegain.data.checkpoint
import safegain.search.class_task
from safegain import Descent, Linear, Network, PGSClassifier, PGSRegressor, Recipe
from safegain.data.checkpoint import Checkpoint, CheckpointError, Saved
from safegain.data.ranks import ALONE
from safegain.learners.mixture import TrainedMixture
from tests.processes import forked
from tests.quick import quick_evidence


def classes(n=700):
    X, y = (part[:n] for part in load_digits(return_X_y=True))
    rng, trusted = np.random.RandomState(0), np.arange(n) % 10 < 3
    return X, np.where(~trusted & (rng.rand(n) < 0.5), (y + rng.randint(1, 10, n)) % 10, y), trusted


def numbers(n=1000):
    rng = np.random.RandomState(0)
    X, trusted = rng.randn(n, 5), np.arange(n) % 10 == 0
    y = X @ np.arange(5.0) + 0.3 * rng.randn(n)
    return X, np.where(~trusted & (rng.rand(n) < 0.4), y + 8 * rng.randn(n), y), trusted


BRIEF = Network(n_hidden=64, recipe=Recipe(n_steps=60))
CASES = {
    "classes": (lambda: PGSClassifier(BRIEF, random_state=0), lambda: classes(300)),
    "numbers": (lambda: PGSRegressor(["huber", "linear"], random_state=0), lambda: numbers(1000)),
    "free": (lambda: PGSRegressor(search="free", random_state=0), lambda: numbers(20_000)),
    # Small ones, for runs that are ended from within.
    "softmax": (lambda: PGSClassifier(Linear(alpha=0.1), random_state=0), lambda: classes(200)),
    "contest": (lambda: PGSRegressor("linear", random_state=0), lambda: numbers(200)),
    "ridge": (lambda: PGSRegressor(search="residuals", random_state=0), numbers),
    "network": (
        lambda: PGSRegressor(Network(n_hidden=5, solver=Descent(n_steps=20)), search="residuals", random_state=0),
        numbers,
    ),
}


def fit(case, folder=None, **settings):
    make, data = CASES[case]
    X, y, trusted = data()
    with quick_evidence():  # in a process of its own too
        return make().set_params(checkpoint=folder, **settings).fit(X, y, trusted=trusted)


@cache
def left_alone(case):
    """(fitted, seconds)"""
    began = time.perf_counter()
    return fit(case), time.perf_counter() - began


def assert_same(found, expected):
    assert_same_models(found.model_, expected.model_)
    assert list(found.references_) == list(expected.references_)
    for name, model in expected.references_.items():
        assert_same_models(found.references_[name], model)
    for name in ("sample_weight_", "label_distribution_", "label_shift_", "corrected_labels_", "held_out_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    pd.testing.assert_frame_equal(found.comparison_, expected.comparison_, check_exact=True)
    assert found.safeness_ == expected.safeness_
    timeless = [[{**record, "seconds": None} for record in each.history_] for each in (found, expected)]
    assert timeless[0] == timeless[1]


def assert_same_models(found, expected):
    if not isinstance(expected, TrainedMixture):
        assert found.theta.equal(expected.theta)
        return
    assert (found.weights, found.sharpness) == (expected.weights, expected.sharpness)
    for one, other in zip(found.members, expected.members, strict=True):
        assert one.theta.equal(other.theta)


def how_far(folder):
    """How many stages are there, or which step."""
    names = [file.name for file in folder.glob("*.safetensors")]
    steps = [int(name.split(".")[0].removeprefix("step-")) + 1 for name in names if name.startswith("step-")]
    return max(steps, default=len(names))


def killed(case, folder, reached, seconds):
    """A fit in a process of its own, killed so long after it has got so far; false if it had ended by then."""
    process = forked(fit, case, folder)
    while process.is_alive() and not ((folder / "checkpoint.json").exists() and how_far(folder) >= reached):
        time.sleep(0.01)
    time.sleep(seconds)
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


@pytest.mark.parametrize(("case", "stages"), [("classes", 3), ("numbers", 8), ("free", 20)])
def test_killed_at_any_moment(tmp_path, case, stages):
    expected, seconds = left_alone(case)
    random = np.random.RandomState()  # other moments whenever this is run
    early, late = random.randint(stages // 2), random.randint(stages // 2, stages - 1)
    assert killed(case, tmp_path, early, random.rand() * seconds / stages)
    print(f"killed at {early} with {sorted(file.name for file in tmp_path.iterdir())}")
    killed(case, tmp_path, late, random.rand() * seconds / stages)
    print(f"killed at {late} with {sorted(file.name for file in tmp_path.iterdir())}")
    assert_same(fit(case, tmp_path), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["rank-0.lock"]


class Killed(BaseException):
    pass


def killed_at(monkeypatch, last, case, folder, *, kept=True, **settings):
    """Fit, and end at the stage `last`, before or after that is written; the stages that were not there yet."""
    plain, seen = Checkpoint.keep, []

    def keep(self, name, stage):
        seen.append(name)
        if kept or name != last:
            plain(self, name, stage)
        if name == last:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "keep", keep)
        with pytest.raises(Killed):
            fit(case, folder, **settings)
    return seen


STAGES = {
    "softmax": ["evidence-0", "evidence-1", "evidence-2", "last-evidence"],
    "contest": ["evidence-0", "evidence-1", "evidence-2", "last-evidence"],
    "ridge": [*(f"fold-{i}" for i in range(5)), "evidence", "references", "refit"],
    "network": ["fold-0", "evidence", "references"],  # it falls back
}


@pytest.mark.parametrize("case", STAGES)
def test_no_stage_is_done_twice(tmp_path, monkeypatch, case):
    expected = left_alone(case)[0]
    for stage in STAGES[case]:
        assert killed_at(monkeypatch, stage, case, tmp_path) == [stage]
    assert_same(fit(case, tmp_path), expected)
    assert not list(tmp_path.glob("stage-*"))


@pytest.mark.parametrize("case", STAGES)
def test_a_stage_that_was_not_written_is_done_again(tmp_path, monkeypatch, case):
    expected, stages = left_alone(case)[0], STAGES[case]
    for i, stage in enumerate(stages):
        assert killed_at(monkeypatch, stage, case, tmp_path, kept=False) == stages[max(i - 1, 0) : i + 1]
    assert_same(fit(case, tmp_path), expected)


def test_without_a_seed_the_run_goes_on_with_the_random_numbers_that_it_had(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    killed_at(monkeypatch, "evidence-1", "softmax", first, random_state=None)
    shutil.copytree(first, second)
    one = fit("softmax", first, random_state=None)
    assert_same(fit("softmax", second, random_state=None), one)
    # A generator of the user's has moved on since, and the run goes on with the state that it found.
    killed_at(monkeypatch, "evidence-1", "softmax", first, random_state=np.random.RandomState(0))
    assert_same(fit("softmax", first, random_state=np.random.RandomState(5)), left_alone("softmax")[0])


def test_a_stage_that_is_taken_away_is_done_again(tmp_path, monkeypatch):
    killed_at(monkeypatch, "last-evidence", "softmax", tmp_path)
    for name in ("evidence-0", "evidence-1"):
        (tmp_path / f"stage-{name}.safetensors").unlink()
    assert_same(fit("softmax", tmp_path), left_alone("softmax")[0])


def test_damaged_stages_and_strange_folders_are_named(tmp_path, monkeypatch):
    killed_at(monkeypatch, "evidence-0", "softmax", tmp_path)
    with pytest.raises(CheckpointError, match="belongs to a run with other model__alpha"):
        fit("softmax", tmp_path, model__alpha=0.2)
    file = tmp_path / "stage-evidence-0.safetensors"
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:8] + b"x" + whole[9:]):
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"stage-evidence-0\.safetensors is damaged"):
            fit("softmax", tmp_path)
    file.write_bytes(whole)
    said = tmp_path / "checkpoint.json"
    kept = said.read_text()
    said.unlink()
    with pytest.raises(CheckpointError, match=r"no checkpoint\.json; remove it to start over"):
        fit("softmax", tmp_path)
    said.write_text(json.dumps({**json.loads(kept), "format": 99}))
    with pytest.raises(CheckpointError, match="has format 99"):
        fit("softmax", tmp_path)
    said.write_text(kept)
    assert_same(fit("softmax", tmp_path), left_alone("softmax")[0])


def test_a_stage_that_does_not_say_what_it_said_is_named(tmp_path, monkeypatch):
    killed_at(monkeypatch, "fold-0", "ridge", tmp_path)
    file = tmp_path / "stage-fold-0.safetensors"
    whole, tensors = file.read_bytes(), load_file(file)

    def changed(words):
        at = whole.index(words)
        return whole[:at] + b"x" + whole[at + 1 :]

    said = [save(tensors, metadata) for metadata in (None, {"facts": "{}"}, {"facts": "[]"}, {"facts": "{"})]
    bytes_changed = [changed(words) for words in (b"random_state", b"history", b"losses", b"generator", whole[-8:])]
    for damaged in said + bytes_changed:
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"stage-fold-0\.safetensors is damaged .*; remove it, to go on"):
            fit("ridge", tmp_path)
    file.write_bytes(whole)
    assert_same(fit("ridge", tmp_path), left_alone("ridge")[0])


def test_a_step_that_does_not_say_what_it_said_is_named(tmp_path):
    checkpoint = Checkpoint(tmp_path, np.random.RandomState(), ALONE)
    saved = Saved({"w": torch.arange(3.0)}, {"theta": torch.ones(2)}, {"best": None})
    checkpoint.save(0, saved)
    (file,) = tmp_path.iterdir()
    found = checkpoint.load(saved.by_row)
    assert found.by_row["w"].tolist() == [0, 1, 2]
    assert found.shared["theta"].tolist() == [1, 1]
    assert found.facts == {"best": None}
    whole = file.read_bytes()
    for words in (b"best", b"row.w", b"all.theta"):
        file.write_bytes(whole.replace(words, b"x" + words[1:]))
        with pytest.raises(CheckpointError, match="is damaged"):
            checkpoint.load(saved.by_row)


def test_a_manifest_that_does_not_say_what_it_said_is_named(tmp_path, monkeypatch):
    killed_at(monkeypatch, "fold-0", "ridge", tmp_path)
    said = tmp_path / "checkpoint.json"
    kept = json.loads(said.read_text())
    for damage in ({"random_state": {}}, {"random_state": 3}, {"fingerprint": "["}, {"fingerprint": 1}):
        said.write_text(json.dumps(kept | damage))
        with pytest.raises(CheckpointError, match=r"checkpoint\.json is damaged; remove .* to start over"):
            fit("ridge", tmp_path)


def test_two_runs_do_not_share_a_folder(tmp_path, monkeypatch):
    plain = safegain.search.class_task.find_evidence

    def meanwhile(*arguments, **settings):
        with pytest.raises(CheckpointError, match="another run is using"):
            fit("ridge", tmp_path)
        return plain(*arguments, **settings)

    monkeypatch.setattr(safegain.search.class_task, "find_evidence", meanwhile)
    assert_same(fit("softmax", tmp_path), left_alone("softmax")[0])


@contextmanager
def files_of_at_most(n_bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("how", ["limit", "safetensors", "fsync"])
def test_a_disk_that_is_full_in_the_midst_of_writing_leaves_what_was_there(tmp_path, monkeypatch, how):
    killed_at(monkeypatch, "evidence-0", "softmax", tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    plain = safegain.data.checkpoint.save_file

    def half(tensors, file, metadata):
        plain(tensors, file, metadata)
        Path(file).write_bytes(Path(file).read_bytes()[:100])
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    def not_synced(_):
        raise full

    with monkeypatch.context() as patch:
        if how == "safetensors":
            patch.setattr(safegain.data.checkpoint, "save_file", half)
        if how == "fsync":
            patch.setattr(os, "fsync", not_synced)
        limit = files_of_at_most(10_000 if how == "limit" else resource.RLIM_INFINITY)
        with limit, pytest.raises(CheckpointError, match=r"checkpoint: cannot use .*(No space|too large)"):
            fit("softmax", tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert_same(fit("softmax", tmp_path), left_alone("softmax")[0])


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"cannot use .*Not a directory"):
        fit("ridge", tmp_path / "file" / "below")
    denied = OSError(errno.EROFS, os.strerror(errno.EROFS))  # root may write where others may not

    def refuse(*_):
        raise denied

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", refuse)
        with pytest.raises(CheckpointError, match=r"cannot use .*Read-only file system"):
            fit("ridge", tmp_path / "kept")
    assert [file.name for file in (tmp_path / "kept").iterdir()] == ["rank-0.lock"]
    with pytest.raises(CheckpointError, match=r"holds other files \(file\); give a folder of its own"):
        fit("ridge", tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "kept"]
