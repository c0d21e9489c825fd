"""From a request to a finished run: read, encode, fit, look for rows to show, write. The report is the caller's.

The folder is claimed before the fit and finished after it. A fit that is killed leaves its request and its checkpoint
there, from which `resume` goes on; one that its input does not allow leaves nothing.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from safegain.data.checkpoint import CheckpointError, KeptFolder, has_begun, remove_checkpoint
from safegain.data.digest import digests, repeated
from safegain.encoding import EncodingError, TableEncoder, thumbnail
from safegain.jobs.earlier_tests import earlier_tests
from safegain.jobs.request import Request, changed_files
from safegain.jobs.settings import make_estimator
from safegain.jobs.shown import choose_examples, example_frame, nearest_trusted
from safegain.runs.facts import Files
from safegain.runs.folder import FACTS, REPORT, REQUEST, Run, RunError, open_run
from safegain.runs.lock import LOCK, locked
from safegain.runs.saving import Story, facts_of_rows, write_run
from safegain.tables import BadFile, Problem, Source, Table, read_problem

CHECKPOINT = "checkpoint"

Say = Callable[[str], None]


def fit_table(request: Request, folder: Path, *, say: Say, verbose: int) -> Run:
    """Fit what is asked for, and leave a finished run in `folder`, which must not hold anything yet."""
    check_empty(folder)
    return _fit(request, folder, claimed(folder), say=say, verbose=verbose)


def resume(folder: Path, *, say: Say, verbose: int) -> Run:
    """Go on with a fit that was killed; a run that had ended is as it was."""
    if (folder / FACTS).exists():
        run = open_run(folder)
        if (folder / CHECKPOINT).exists() or not (folder / REPORT).exists():  # it was killed right there
            with locked(folder):
                tidy(folder, folder / CHECKPOINT)
        say(f"{folder}: its fit has ended; there is nothing to go on with")
        return run
    request = Request.read(folder)
    if request.processes > 1:
        raise RunError(
            f"{folder}: was begun by {request.processes} processes; start these again with the same command, another "
            f"--out, and --checkpoint {folder / CHECKPOINT}"
        )
    return _fit(request, folder, locked(folder), say=say, verbose=verbose)


def _fit(request: Request, folder: Path, claim: AbstractContextManager[None], *, say: Say, verbose: int) -> Run:
    """What is wrong with the input is said before the folder is claimed and anything is written."""
    began = time.perf_counter()
    source, settings = request.source, {"checkpoint": folder / CHECKPOINT, **request.settings}
    problem = read_problem(source)
    estimator = make_estimator(problem.task, settings, verbose=verbose, random_state=request.seed)
    if "certificate" in request.settings and problem.trusted is None:
        raise ValueError("certificate: takes rows whose labels are right, and none were named; name them by --trusted")
    for note in problem.notes:
        say(note)
    encoder, X = _encoded(request, problem)
    _check_twins(X, problem, source)
    labels, ledger = problem.said, None
    if request.after is not None:
        with encoding_of(problem.table):
            ledger = earlier_tests(Path(request.after), problem.table, X)
    story = _story(request, problem, encoder)
    del problem  # the table is read again when rows are shown: it need not lie in memory while the fit goes on
    pa.default_memory_pool().release_unused()
    with claim:
        if not (folder / REQUEST).exists():
            request.write(folder)
        estimator.set_params(checkpoint=KeptFolder(Path(settings["checkpoint"])))
        estimator.fit(X, **labels, ledger=ledger)
        estimator.set_params(checkpoint=None, verbose=0)  # which were this fit's, and are not the model's
        rows = facts_of_rows(estimator, X)
        chosen = choose_examples(rows)
        neighbours = nearest_trusted(X, chosen, np.flatnonzero(rows["trusted"].to_numpy()))
        del X  # before the table is read again
        try:
            examples = _shown(np.union1d(chosen, neighbours["neighbour"]), source, folder)
            story = replace(story, examples=examples, neighbours=neighbours)
        except (ValueError, OSError) as error:  # what was learned is not lost with the files
            said = f"No values of rows are shown: {error}"
            story = replace(story, notes=(*story.notes, said))
            say(said)
        write_run(folder, estimator, rows, replace(story, seconds=time.perf_counter() - began))
        tidy(folder, Path(settings["checkpoint"]))
    return open_run(folder)


def tidy(folder: Path, checkpoint: Path) -> None:
    """Once run.json is there: no trace of how it came about."""
    for left in folder.glob(".*.part"):
        left.unlink()
    remove_checkpoint(checkpoint)
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)


def _encoded(request: Request, problem: Problem) -> tuple[TableEncoder, np.ndarray]:
    """The encoder learns from weak rows alone: rows that are set aside for a certificate are then new to it too."""
    folder = str(Path(request.source.train).parent)
    features: Any = request.image_features  # the encoder checks it
    encoder = TableEncoder(problem.kinds, folder=folder, image_features=features, random_state=request.seed)
    weak = problem.table if problem.trusted is None else problem.table.take(np.flatnonzero(~problem.trusted))
    with encoding_of(weak):
        encoder.fit(weak.columns)
    del weak
    with encoding_of(problem.table):
        return encoder, encoder.transform(problem.table.columns)


def _check_twins(X: np.ndarray, problem: Problem, source: Source) -> None:
    """Trusted rows that are also among the doubtful ones are no longer new to a model that learned from these."""
    train, added = X[: problem.n_train], X[problem.n_train :]
    if source.id is None and len(added) and (twins := repeated(digests(added), digests(train))):
        raise BadFile(
            f"{source.trusted}: {len(twins)} of its rows ({problem.table.place(problem.n_train + twins[0])} first) are "
            "also in the training file with a doubtful label; name a column that identifies rows by --id, or take them "
            "out of the training file"
        )


@contextmanager
def encoding_of(table: Table) -> Iterator[None]:
    """What an encoder finds wrong is said with the file and the place in it."""
    try:
        yield
    except EncodingError as error:
        raise table.bad(error.problem, row=error.row, column=error.column) from None


def _shown(numbers: np.ndarray, source: Source, folder: Path) -> pd.DataFrame:
    """Values and pictures of rows for report and page."""
    if changed := changed_files(folder):
        raise BadFile(f"{changed[0]}: was changed while the fit went on, so that its rows may be others")
    problem, beside = read_problem(source), Path(source.train).parent
    images = [problem.table.columns[name] for name, kind in problem.kinds.items() if kind == "image"]
    pictures = [thumbnail(images[0], int(row), beside) for row in numbers] if images else None
    return example_frame(problem.table.columns, numbers, pictures)


def _story(request: Request, problem: Problem, encoder: TableEncoder) -> Story:
    source = request.source
    return Story(
        label=source.label,
        columns=dict(problem.kinds),
        files=Files(source.train, source.trusted, list(source.checked)),
        notes=problem.notes,
        encoder=encoder,
        ids=problem.ids,
        groups=problem.groups,
    )


def check_empty(folder: Path) -> None:
    """Nothing is there, but perhaps the lock of a fit that was killed at once."""
    if folder.exists() and (not folder.is_dir() or any(file.name != LOCK for file in folder.iterdir())):
        resumable = (folder / REQUEST).exists() and not (folder / FACTS).exists()
        advice = f"go on with `safegain resume {folder}`, or " if resumable else ""
        raise RunError(f"{folder}: is not empty; {advice}give another folder as --out")


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """A folder of this run's own. Input that turns out wrong before anything is learned leaves nothing there.

    Whatever ends it later leaves all: `resume` goes on from there.
    """
    made, nothing = not folder.exists(), False
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with locked(folder):
            check_empty(folder)  # another fit may have come first
            try:
                yield
            except ValueError as error:
                nothing = not isinstance(error, CheckpointError | RunError) and not has_begun(folder / CHECKPOINT)
                if nothing:
                    (folder / REQUEST).unlink(missing_ok=True)
                    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
                raise
    finally:
        if made and nothing:
            with suppress(OSError):  # what others have put there meanwhile stays
                folder.rmdir()
