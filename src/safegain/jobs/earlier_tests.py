"""What was tested in an earlier run of the same rows: it stays used up in the next one."""

from pathlib import Path

import numpy as np

from safegain.certificates.ledger import NO_ROWS, Ledger
from safegain.data.digest import among, digests
from safegain.jobs.ready import cells_of
from safegain.runs.folder import RunError, open_run
from safegain.runs.loading import load
from safegain.tables import Table


def earlier_tests(run: Path, table: Table, X: np.ndarray) -> Ledger:
    """The tests of `run`, with its tested rows as they are here: `X` is the table, as the next fit takes it.

    An encoder learns from its rows, so that the same row may have other values, and another digest, in two runs. Rows
    of the table are known again by the encoder of the earlier one, and those of fresh files by their cells.
    """
    earlier = open_run(run)
    if earlier.facts.encoder is None:
        raise RunError(f"{run}: was saved from Python; fit again there, with fit(..., ledger=earlier.ledger_)")
    steps = load(run).named_steps
    ledger = steps["model"].ledger_
    encoder = steps["encoder"].set_params(folder=str(table.path.absolute().parent))
    tested = among(digests(encoder.transform(table.columns)), ledger.tested)
    shown = table.without(set(table.columns) - set(earlier.facts.columns or {}))
    if (cells := cells_of(earlier, shown)) is not None:
        tested |= among(digests(cells), ledger.tested_cells[ledger.tested_cells.any(axis=1)])
    after = ledger.after(NO_ROWS)
    again = digests(X)[tested]
    after.tested = np.concatenate([again, ledger.tested])  # those of the last test come last
    unknown = np.zeros_like(again)
    after.tested_ids = np.concatenate([unknown, ledger.tested_ids])
    after.tested_cells = np.concatenate([unknown, ledger.tested_cells])
    return after
