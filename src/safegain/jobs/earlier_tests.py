"""What was tested in an earlier run of the same rows: it stays used up in the next one."""

from pathlib import Path

import numpy as np

from safegain.certificates.ledger import NO_ROWS, Ledger
from safegain.data.digest import among, digests
from safegain.runs.folder import RunError, open_run
from safegain.runs.loading import load
from safegain.tables import Table


def earlier_tests(run: Path, table: Table, X: np.ndarray) -> Ledger:
    """The tests of `run`, with its tested rows as they are here: `X` is the table, as the next fit takes it.

    An encoder learns from its rows, so that the same row may have other values, and another digest, in two runs. Rows
    of the table are known again by the encoder of the earlier one, and those of fresh files by their cells.
    """
    if open_run(run).facts.encoder is None:
        raise RunError(f"{run}: was saved from Python; fit again there, with fit(..., ledger=earlier.ledger_)")
    steps = load(run).named_steps
    ledger = steps["model"].ledger_
    encoder = steps["encoder"].set_params(folder=str(table.path.absolute().parent))
    tested = among(digests(encoder.transform(table.columns)), ledger.tested)
    after = ledger.after(NO_ROWS)
    again = digests(X)[tested]
    after.tested = np.concatenate([again, ledger.tested])  # those of the last test come last
    after.tested_ids = np.concatenate([np.zeros_like(again), ledger.tested_ids])
    return after
