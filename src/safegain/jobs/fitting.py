"""From a request to a finished run: read, encode, fit, look for rows to show, write. The report is the caller's.

The folder is claimed before the fit and finished after it. A fit that is killed leaves its request and its checkpoint
there, from which `resume` goes on; one that its input does not allow leaves nothing.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from safegain.data.checkpoint import CheckpointError, KeptFolder, has_begun, remove_checkpoint
from safegain.data.digest import digests, repeated
from safegain.data.gathering import all_rows
from safegain.data.ranks import ALONE, Ranks
from safegain.encoding import EncodingError, TableEncoder, thumbnail
from safegain.jobs.earlier_tests import earlier_tests
from safegain.jobs.request import Request, changed_files
from safegain.jobs.settings import make_estimator
from safegain.jobs.shown import example_frame, examples_of
from safegain.runs.facts import Files
from safegain.runs.folder import FACTS, REPORT, REQUEST, Run, RunError, open_run
from safegain.runs.lock import LOCK, locked
from safegain.runs.saving import Story, facts_of_rows, write_run
from safegain.tables import BadFile, Problem, Source, Table, read_problem
from safegain.tables.files import suffix_of

CHECKPOINT = "checkpoint"

Say = Callable[[str], None]


def fit_table(request: Request, folder: Path, *, say: Say, verbose: int, ranks: Ranks = ALONE) -> Run:
    """Fit what is asked for, and leave a finished run in `folder`, which must not hold anything yet."""
    ranks.at_once(lambda: check_empty(folder))
    return _fit(request, folder, claimed(folder), say=say, verbose=verbose, ranks=ranks)


def resume(folder: Path, *, say: Say, verbose: int, ranks: Ranks = ALONE) -> Run:
    """Go on with a fit that was killed, in any number of processes; a run that had ended is as it was."""
    if (folder / FACTS).exists():
        run = open_run(folder)
        if (folder / CHECKPOINT).exists() or not (folder / REPORT).exists():  # it was killed right there
            with locked(folder):
                tidy(folder, folder / CHECKPOINT)
        say(f"{folder}: its fit has ended; there is nothing to go on with")
        return run
    request = ranks.at_once(lambda: Request.read(folder))
    if request.processes > 1 and streams(request):
        raise RunError(
            f"{folder}: was begun by {request.processes} processes that read Parquet in blocks; start these again with "
            f"the same command, another --out, and --checkpoint {folder / CHECKPOINT}"
        )
    return _fit(request, folder, locked(folder), say=say, verbose=verbose, ranks=ranks)


def streams(request: Request) -> bool:
    """Whether several processes read the rows of Parquet files in blocks: a linear model with search='free'."""
    path = Path(request.source.train)
    if path.is_dir() or suffix_of(path) == ".parquet":
        for task in ("classes", "numbers"):
            with suppress(ValueError):  # of the other task; what is wrong with both, the fit will say
                if make_estimator(task, request.settings, verbose=0, random_state=0).streams:
                    return True
    return False


def _fit(
    request: Request,
    folder: Path,
    claim: AbstractContextManager[None],
    *,
    say: Say,
    verbose: int,
    ranks: Ranks,
) -> Run:
    """What is wrong with the input is said before the folder is claimed and anything is written.

    Each of several processes reads the table, learns the same encoder, and encodes its share of the rows.
    """
    began = time.perf_counter()
    source, settings = request.source, {"checkpoint": folder / CHECKPOINT, **request.settings}
    problem = ranks.together(lambda: read_problem(source))
    if request.after is not None and ranks.size > 1:
        raise ValueError("--after: knows the rows of one process alone; fit without torchrun, or without --after")
    estimator = make_estimator(problem.task, settings, verbose=verbose, random_state=request.seed)
    if "certificate" in request.settings and problem.trusted is None:
        raise ValueError("certificate: takes rows whose labels are right, and none were named; name them by --trusted")
    for note in problem.notes if ranks.rank == 0 else ():
        say(note)
    mine = slice(*(len(problem.y) * rank // ranks.size for rank in (ranks.rank, ranks.rank + 1)))
    encoder, X = ranks.together(partial(_encoded, request, problem, mine))
    _check_twins(all_rows(digests(X), ranks), problem, source)
    labels, ledger = {name: None if each is None else each[mine] for name, each in problem.said.items()}, None
    if request.after is not None:
        with encoding_of(problem.table):
            ledger = earlier_tests(Path(request.after), problem.table, X)
    story = _story(request, problem, encoder, mine)
    del problem  # the table is read again when rows are shown: it need not lie in memory while the fit goes on
    pa.default_memory_pool().release_unused()
    with ExitStack() as stack:

        def begin() -> None:
            stack.enter_context(claim)
            if not (folder / REQUEST).exists():
                request.write(folder)

        ranks.at_once(begin if ranks.rank == 0 else lambda: None)
        estimator.set_params(checkpoint=KeptFolder(Path(settings["checkpoint"])))
        estimator.fit(X, **labels, ledger=ledger)
        estimator.set_params(checkpoint=None, verbose=0)  # which were this fit's, and are not the model's
        rows = ranks.together(partial(facts_of_rows, estimator, X))
        chosen, neighbours = examples_of(X, rows, ranks)
        del X  # before the table is read again
        try:
            shown = np.union1d(chosen, neighbours["neighbour"])
            examples = ranks.together(lambda: _shown(shown, source, folder) if ranks.rank == 0 else None)
            story = replace(story, examples=examples, neighbours=neighbours)
        except (ValueError, OSError) as error:  # what was learned is not lost with the files
            said = f"No values of rows are shown: {error}"
            story = replace(story, notes=(*story.notes, said))
            say(said)
        write_run(folder, estimator, rows, replace(story, seconds=time.perf_counter() - began), ranks=ranks)
        if ranks.rank == 0:
            tidy(folder, Path(settings["checkpoint"]))
        ranks.count(1)  # the run is there
    return open_run(folder)


def tidy(folder: Path, checkpoint: Path) -> None:
    """Once run.json is there: no trace of how it came about."""
    for left in folder.glob(".*.part"):
        left.unlink()
    remove_checkpoint(checkpoint)
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)


def _encoded(request: Request, problem: Problem, mine: slice) -> tuple[TableEncoder, np.ndarray]:
    """The encoder learns from weak rows alone: rows that are set aside for a certificate are then new to it too.

    `mine` are the rows that it is asked for.
    """
    folder = str(Path(request.source.train).parent)
    features: Any = request.image_features  # the encoder checks it
    encoder = TableEncoder(problem.kinds, folder=folder, image_features=features, random_state=request.seed)
    weak = problem.table if problem.trusted is None else problem.table.take(np.flatnonzero(~problem.trusted))
    with encoding_of(weak):
        encoder.fit(weak.columns)
    del weak
    part = problem.table if mine == slice(0, len(problem.y)) else problem.table.take(np.arange(len(problem.y))[mine])
    with encoding_of(part):
        return encoder, encoder.transform(part.columns)


def _check_twins(D: np.ndarray, problem: Problem, source: Source) -> None:
    """Trusted rows that are also among the doubtful ones are no longer new to a model that learned from these.

    D has digests of all rows.
    """
    train, added = D[: problem.n_train], D[problem.n_train :]
    if source.id is None and len(added) and (twins := repeated(added, train)):
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


def _story(request: Request, problem: Problem, encoder: TableEncoder, mine: slice) -> Story:
    source = request.source
    return Story(
        label=source.label,
        columns=dict(problem.kinds),
        files=Files(source.train, source.trusted, list(source.checked)),
        notes=problem.notes,
        encoder=encoder,
        ids=None if problem.ids is None else problem.ids[mine],
        groups=None if problem.groups is None else problem.groups[mine],
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
