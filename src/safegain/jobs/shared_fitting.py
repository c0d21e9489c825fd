"""A fit that several processes share, each with its rows of a table of numbers: `torchrun ... -m safegain fit`."""

import time
from contextlib import nullcontext
from pathlib import Path

from safegain.data.checkpoint import KeptFolder
from safegain.data.ranks import Ranks
from safegain.jobs.fitting import CHECKPOINT, claimed, tidy
from safegain.jobs.request import Request
from safegain.jobs.settings import make_estimator
from safegain.runs.facts import Files
from safegain.runs.folder import Run, open_run
from safegain.runs.saving import Story, facts_of_rows, write_run
from safegain.tables import Source
from safegain.tables.shares import Share, read_share


def fit_shares(request: Request, folder: Path, ranks: Ranks, *, verbose: int) -> Run:
    """The run has no rows to show, and no encoder: `safegain.load` gives an estimator of the table's numbers."""
    source = request.source
    for name in ("drop", "id", "group", "checked", "kinds"):
        if getattr(source, name):
            raise ValueError(f"{name}: is not known to a fit of several processes; they share a table of numbers")
    if source.trusted is None:
        raise ValueError("--trusted: several processes need the name of a column that is 1 where the label is right")
    began = time.perf_counter()
    task = source.task or "classes"
    settings = {"checkpoint": folder / CHECKPOINT, **request.settings}
    estimator = make_estimator(task, settings, verbose=verbose, random_state=request.seed)
    share = read_together(source, ranks)
    with claimed(folder) if ranks.rank == 0 else nullcontext():
        if ranks.rank == 0:
            request.write(folder)
        ranks.count(1)  # the folder is ours
        estimator.set_params(checkpoint=KeptFolder(Path(settings["checkpoint"])))
        estimator.fit(share.X if estimator.streams else share.X[:], share.y, trusted=share.trusted)
        estimator.set_params(checkpoint=None, verbose=0)
        seconds = time.perf_counter() - began
        story = Story(label=source.label, files=Files(source.train, source.trusted), seconds=seconds)
        write_run(folder, estimator, facts_of_rows(estimator), story, ranks=ranks)
        if ranks.rank == 0:
            tidy(folder, Path(settings["checkpoint"]))
        ranks.count(1)  # the run is there
    return open_run(folder)


def read_together(source: Source, ranks: Ranks) -> Share:
    """This process's rows, unless one of the processes finds something wrong with its own: then all say so."""
    share, wrong = None, None
    try:
        share = read_share(Path(source.train), source.label, str(source.trusted), ranks)
    except (ValueError, OSError) as error:
        wrong = str(error)
    if found := next(filter(None, ranks.gather(wrong)), None):
        raise ValueError(found)
    assert share is not None
    return share
