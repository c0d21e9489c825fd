"""Checkpoints: what a killed run needs to go on, and to end with the bits it would have ended with.

    folder/checkpoint.json               which run this is, and the state of its random generator when it began
    folder/step-7.rank-0-of-2.safetensors    the outer loop after step 7, with this rank's rows
    folder/stage-refit.safetensors       what a run without an outer loop has reached: each of its stages (stages.py)

Files appear whole or not at all (written beside, flushed to disk, renamed), and a step counts once every rank has
written it; the step before it is kept until then. Tensors by row may be read by another number of ranks than wrote
them. Nothing in a checkpoint is executed, and a seal tells whether facts and shared tensors are what was written.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from safegain.data.files import written
from safegain.data.ranks import Ranks

FORMAT = 3
_NAME = re.compile(r"step-(\d+)\.rank-(\d+)-of-(\d+)\.safetensors")
_WHOLE = re.compile(r"(step|stage)-.+\.safetensors")
_LEFT_BY_A_KILL = re.compile(r"\..+\.part|\.tmp\w+")  # in the midst of writing, by us or by safetensors
_LOCK = re.compile(r"rank-\d+\.lock")
MANIFEST = "checkpoint.json"
BY_ROW = "row."  # what the names of tensors begin with whose rows lie in the files of several ranks

Tensors = dict[str, Tensor]


class CheckpointError(ValueError):
    """A checkpoint folder that cannot be used, with what to do about it."""


@dataclass(frozen=True)
class Saved:
    by_row: Tensors  # this rank's rows
    shared: Tensors  # the same on every rank
    facts: dict[str, Any]  # what JSON holds


@dataclass(frozen=True)
class Kept:
    """A stage of a run in one process."""

    tensors: Tensors
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KeptFolder:
    """A folder whose checkpoint outlives the fit: for a caller who has yet to write down what was found."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class Checkpoint:
    folder: Path
    random_state: np.random.RandomState  # as it was when the run began
    ranks: Ranks
    kept_after_the_fit: bool = False

    def save(self, step: int, saved: Saved) -> None:
        name = f"step-{step}.rank-{self.ranks.rank}-of-{self.ranks.size}.safetensors"
        # A file holds each tensor by itself: those that may share memory become copies, if they are small.
        tensors = {f"{BY_ROW}{key}": value.contiguous() for key, value in saved.by_row.items()}
        tensors |= {f"all.{key}": value.clone() for key, value in saved.shared.items()}
        self._write(self.folder / name, tensors, saved.facts)
        self.ranks.count(1)  # everyone has written
        for old, files in self._steps().items():
            if old[0] < step and self.ranks.rank == 0:
                for file in files.values():
                    file.unlink(missing_ok=True)

    def load(self, like: Mapping[str, Tensor]) -> Saved | None:
        """The last step that is complete; `like` has a tensor of this rank's rows for each tensor by row."""
        complete = {key: files for key, files in self._steps().items() if len(files) == key[1]}
        last = max(self.ranks.gather(max(complete, default=(-1, 0))))
        if last[0] < 0:
            return None
        if not all(self.ranks.gather(last in complete)):
            raise CheckpointError(
                f"checkpoint: not every process sees step {last[0]} in {self.folder}; share the folder"
            )
        counts = {name: self.ranks.gather(len(rows)) for name, rows in like.items()}
        files = [complete[last][rank] for rank in range(last[1])]
        by_row = {
            name: _rows(files, f"{BY_ROW}{name}", sum(here[: self.ranks.rank]), len(like[name]))
            for name, here in counts.items()
        }
        with _opened(files[0]) as file:
            shared, facts = _sealed(file)
        return Saved(by_row, {key.removeprefix("all."): value for key, value in shared.items()}, facts)

    def keep(self, name: str, stage: Kept) -> None:
        # Views become tensors of their own, which is what a file holds.
        tensors = {key: value.clone(memory_format=torch.contiguous_format) for key, value in stage.tensors.items()}
        self._write(self._stage(name), tensors, stage.facts)

    def kept(self, name: str) -> Kept | None:
        if not self._stage(name).exists():
            return None
        with _opened(self._stage(name)) as file:
            return Kept(*_sealed(file))

    def remove(self) -> None:
        """The run has ended well, and its checkpoints with it."""
        if self.kept_after_the_fit:
            return
        self.ranks.count(1)  # nobody is still reading
        if self.ranks.rank == 0:
            remove_checkpoint(self.folder)

    def _stage(self, name: str) -> Path:
        return self.folder / f"stage-{name}.safetensors"

    def _write(self, file: Path, tensors: Tensors, facts: dict[str, Any]) -> None:
        told = json.dumps(facts)
        whole = {name: value for name, value in tensors.items() if not name.startswith(BY_ROW)}
        with _usable(self.folder), written(file) as beside:
            try:
                save_file(tensors, beside, metadata={"facts": told, "seal": _seal(whole, told)})
            except SafetensorError as error:  # its words for a full disk
                raise OSError(str(error)) from error

    def _steps(self) -> dict[tuple[int, int], dict[int, Path]]:
        """(step, number of ranks) -> rank -> file"""
        found: dict[tuple[int, int], dict[int, Path]] = {}
        for file in self.folder.iterdir():
            if match := _NAME.fullmatch(file.name):
                step, rank, size = map(int, match.groups())
                found.setdefault((step, size), {})[rank] = file
        return found


@contextmanager
def opened_checkpoint(
    folder: str | os.PathLike | None, name_run: Callable[[], str], random: np.random.RandomState, ranks: Ranks
) -> Iterator[Checkpoint | None]:
    """The checkpoint of this run in `folder`: a new one, or one that a killed run has left there."""
    if folder is None:
        yield None
        return
    path, fingerprint = Path(folder), name_run()
    manifest = path / MANIFEST
    with ExitStack() as stack:
        with _usable(path):
            path.mkdir(parents=True, exist_ok=True)
            _check_ours(path)
            stack.enter_context(_locked(path, ranks.rank))
        ranks.count(1)  # nobody else is here
        with _usable(path):
            begun = has_begun(path)
            if begun and not manifest.exists():
                raise CheckpointError(
                    f"checkpoint: {path} holds steps of a run but no {MANIFEST}; remove it to start over"
                )
            if ranks.rank == 0 and not begun:
                with written(manifest) as beside:
                    beside.write_text(json.dumps(_manifest(fingerprint, random)))
        ranks.count(1)  # the manifest is there
        yield Checkpoint(path, _same_run(manifest, fingerprint), ranks, isinstance(folder, KeptFolder))


def has_begun(folder: Path) -> bool:
    """Whether a run has got anywhere there."""
    return folder.is_dir() and any(_WHOLE.fullmatch(file.name) for file in folder.iterdir())


def remove_checkpoint(folder: Path) -> None:
    """What a run has left there, and nothing else."""
    for file in folder.iterdir() if folder.is_dir() else ():
        if _WHOLE.fullmatch(file.name) or _LEFT_BY_A_KILL.fullmatch(file.name):
            file.unlink()
    (folder / MANIFEST).unlink(missing_ok=True)  # last: steps without it belong to nobody


def _check_ours(folder: Path) -> None:
    """A checkpoint is removed when its run has ended: it must not lie among files that are somebody else's."""
    for file in folder.iterdir():
        if file.name != MANIFEST and not any(name.fullmatch(file.name) for name in (_WHOLE, _LOCK, _LEFT_BY_A_KILL)):
            raise CheckpointError(f"checkpoint: {folder} holds other files ({file.name}); give a folder of its own")


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"checkpoint: cannot use {folder}: {error.strerror or error}") from error


def _manifest(fingerprint: str, random: np.random.RandomState) -> dict[str, Any]:
    return {"format": FORMAT, "fingerprint": fingerprint, "random_state": random_state_as_json(random)}


def random_state_as_json(random: np.random.RandomState) -> dict[str, Any]:
    state: Any = random.get_state(legacy=False)
    state["state"]["key"] = state["state"]["key"].tolist()
    return dict(state)


def _same_run(manifest: Path, fingerprint: str) -> np.random.RandomState:
    random = np.random.RandomState()
    try:
        found = json.loads(manifest.read_text())
        version = found["format"]
        if version == FORMAT:
            owner, theirs = found["fingerprint"], dict(json.loads(found["fingerprint"]))
            random.set_state(found["random_state"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"checkpoint: {manifest} is damaged; remove {manifest.parent} to start over") from error
    if version != FORMAT:
        raise CheckpointError(f"checkpoint: {manifest} has format {version}, this version reads {FORMAT}; start over")
    if owner != fingerprint:
        ours = json.loads(fingerprint)
        differ = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
        raise CheckpointError(
            f"checkpoint: {manifest.parent} belongs to a run with other {', '.join(differ)}; give another folder, or "
            "remove it to start over"
        )
    return random


def _locked(folder: Path, rank: int) -> Any:
    """Until it is closed, or the process ends. The file stays, as it may be another run's by now."""
    try:
        return FileLock(folder / f"rank-{rank}.lock").acquire(blocking=False)
    except Timeout as error:
        raise CheckpointError(
            f"checkpoint: another run is using {folder}; give each run a folder of its own"
        ) from error


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    try:
        with safe_open(file, framework="pt") as tensors:
            yield tensors
    except (SafetensorError, LookupError, ValueError) as error:
        raise CheckpointError(
            f"checkpoint: {file} is damaged ({error}); remove it, to go on from an earlier step or to start over"
        ) from error


def _sealed(file: Any) -> tuple[Tensors, dict[str, Any]]:
    """All tensors that do not lie by row, and the facts, if they are what was written: a ValueError if not."""
    tensors = {name: file.get_tensor(name).clone() for name in file.keys() if not name.startswith(BY_ROW)}  # noqa: SIM118
    metadata = file.metadata() or {}
    facts = metadata.get("facts", "")
    if metadata.get("seal") != _seal(tensors, facts):
        raise ValueError("it is not what was written")
    return tensors, json.loads(facts)


def _seal(tensors: Tensors, facts: str) -> str:
    """A digest of names, types, shapes, numbers and facts: who reads them need not check any of these again."""
    digest = hashlib.sha256(facts.encode())
    for name, value in sorted(tensors.items()):
        digest.update(f"\n{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _rows(files: Sequence[Path], name: str, first: int, count: int) -> Tensor:
    """Rows first .. first + count of a tensor whose rows lie in several files, one after the other."""
    parts: list[Tensor] = []
    for path in files:
        with _opened(path) as file:
            rows = file.get_slice(name)
            length = rows.get_shape()[0]
            begin, end = max(0, min(first, length)), max(0, min(first + count, length))
            if begin < end or not parts:
                parts.append(rows[begin:end])
        first -= length
    return torch.cat(parts)
