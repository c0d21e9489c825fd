"""A fit that several processes share, each of which streams its rows from Parquet files of numbers."""

import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from safegain.data.checkpoint import KeptFolder
from safegain.data.ranks import Ranks
from safegain.jobs.fitting import CHECKPOINT, Say, claimed, tidy
from safegain.jobs.request import Request
from safegain.jobs.settings import make_estimator
from safegain.runs.facts import Files
from safegain.runs.folder import Run, open_run
from safegain.runs.saving import Story, facts_of_rows, write_run
from safegain.tables import Source
from safegain.tables.shares import Share, read_share


def fit_shares(request: Request, folder: Path, ranks: Ranks, *, say: Say, verbose: int) -> Run:
    """The run has no rows to show, and no encoder: `safegain.load` gives an estimator of the table's numbers."""
    if request.after is not None:
        raise ValueError("--after: several processes share this fit, and a table of numbers alone; fit in one process")
    source, began = request.source, time.perf_counter()
    settings = {"checkpoint": folder / CHECKPOINT, **request.settings}
    share = read_together(source, ranks)
    estimator = make_estimator(share.task, settings, verbose=verbose, random_state=request.seed)
    for note in share.notes if ranks.rank == 0 else ():
        say(note)
    with claimed(folder) if ranks.rank == 0 else nullcontext():
        if ranks.rank == 0:
            request.write(folder)
        ranks.count(1)  # the folder is ours
        estimator.set_params(checkpoint=KeptFolder(Path(settings["checkpoint"])))
        estimator.fit(share.X, share.y, trusted=share.trusted, groups=share.groups)
        estimator.feature_names_in_ = np.array(share.names, dtype=object)
        estimator.set_params(checkpoint=None, verbose=0)
        story = Story(
            label=source.label,
            files=Files(source.train, source.trusted),
            notes=share.notes,
            ids=share.ids,
            groups=share.groups,
            seconds=time.perf_counter() - began,
        )
        write_run(folder, estimator, facts_of_rows(estimator), story, ranks=ranks)
        if ranks.rank == 0:
            tidy(folder, Path(settings["checkpoint"]))
        ranks.count(1)  # the run is there
    return open_run(folder)


def read_together(source: Source, ranks: Ranks) -> Share:
    """This process's rows, unless one of the processes finds something wrong with them: then all say so."""
    share, wrong = None, None
    try:
        share = read_share(source, ranks)
    except (ValueError, OSError) as error:
        wrong = str(error)
    if found := next(filter(None, ranks.gather(wrong)), None):
        raise ValueError(found)
    assert share is not None
    return share
