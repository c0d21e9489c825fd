"""The model of a finished run, and tables as it takes them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from safegain.data.kinds import Kind
from safegain.runs.folder import Run, RunError, open_run
from safegain.tables import BadFile, Table
from safegain.tables.rows import RowsToUse

if TYPE_CHECKING:  # nothing here waits for torch
    from safegain.certificates.ledger import Ledger, UsedRows


def with_columns(folder: Path) -> tuple[Run, dict[str, Kind]]:
    """A run over a table, and the columns that it takes."""
    run = open_run(folder)
    if (columns := run.facts.columns) is None:
        raise RunError(
            f"{folder}: was saved from Python or by several processes, and knows no columns; use "
            f"safegain.load({str(folder)!r}) in Python"
        )
    encoder = run.facts.encoder
    if encoder is None or encoder.parameters.kinds != columns:
        raise RunError(f"{folder / 'run.json'}: is damaged (its encoder does not fit its columns); fit again")
    return run, columns


def describe_rows(run: Run, ledger: "Ledger", rows: RowsToUse) -> None:
    """Rows of the next test are known by their ids, if they have some, as those of the fit; and by their cells."""
    if (cells := cells_of(run, rows.table)) is not None:
        ledger.show(cells)
    if rows.ids is not None:
        ledger.name(rows.ids)
        know_ids(run, ledger)


def used_rows(error: "UsedRows", table: Table) -> BadFile:
    """What is wrong with a file of fresh rows, in its own terms."""
    return BadFile(
        f"{table.path}: {len(error.rows)} rows ({table.place(error.rows[0])} first) {error.what}; a certificate needs "
        "fresh ones. Take them out; or if these are other rows that only look the same, repeat with --allow and the "
        "reason"
    )


def cells_of(run: Run, table: Table) -> pd.DataFrame | None:
    """All values of the table, as its file has them; None: some are pictures, of which these are but the paths."""
    if "image" in (run.facts.columns or {}).values():
        return None
    columns = (column if isinstance(column, np.ndarray) else column.to_numpy() for column in table.columns.values())
    parts = [pd.DataFrame(column.reshape(table.n_rows, -1)) for column in columns]
    return pd.concat(parts, axis=1)


def know_ids(run: Run, ledger: "Ledger") -> None:
    from safegain.data.digest import id_digests

    if "id" in run.labels:
        ledger.learned_ids = id_digests(run.labels["id"][~run.labels["set_aside"]])


@dataclass(frozen=True)
class Ready:
    """The model of a run, for rows of a table."""

    estimator: Any
    encoder: Any  # a TableEncoder
    classifies: bool

    @classmethod
    def of(cls, run: Run, path: Path) -> Self:
        """Pictures are looked for beside the table at `path`."""
        from safegain.runs.loading import load

        steps = load(run.folder).named_steps
        steps["model"].ledger_.remark = None  # who asks for it writes it down
        encoder = steps["encoder"].set_params(folder=str(path.absolute().parent))
        return cls(steps["model"], encoder, run.facts.task == "classes")

    def rows(self, table: Table) -> np.ndarray:
        """As the estimator takes them."""
        from safegain.jobs.fitting import encoding_of

        with encoding_of(table):
            return self.encoder.transform(table.columns)

    def predictions(self, table: Table) -> dict[str, np.ndarray]:
        """Columns: the prediction, and of classes their probabilities."""
        from safegain.learners.wrapped import TrainedEstimator

        estimator, X = self.estimator, self.rows(table)
        if not self.classifies:
            return {"prediction": estimator.predict(X)}
        P = estimator.predict_proba(X)
        # All but an estimator of the user's say the likeliest class.
        asked = isinstance(estimator.model_, TrainedEstimator)
        found = {"prediction": estimator.predict(X) if asked else estimator.classes_[P.argmax(axis=1)]}
        return found | {f"p({name})": P[:, number] for number, name in enumerate(estimator.classes_)}
