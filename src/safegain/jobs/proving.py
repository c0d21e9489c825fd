"""A test by disagreements of a run's model, from a file of fresh rows: begun here, it goes on with every label."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from safegain.certificates.claims import Claims
from safegain.certificates.ledger import UsedRows
from safegain.certificates.stream import Disagreements
from safegain.data.digest import digests, id_digests
from safegain.encoding import thumbnail
from safegain.jobs.ready import name_rows, ready, with_columns
from safegain.jobs.shown import example_frame
from safegain.runs import certificate_facts
from safegain.runs.folder import Run, RunError
from safegain.runs.ledger_file import write_ledger
from safegain.runs.lock import locked
from safegain.runs.proof import latest_proof
from safegain.runs.proof_file import ProofArrays, write_proof
from safegain.tables import BadFile, read_rows
from safegain.tables.rows import RowsToUse


def begin_proof(
    folder: Path,
    pool: Path,
    claims: Claims,
    *,
    id: str | None = None,
    group: str | None = None,
    allow: str | None = None,
) -> bool:
    """Draw the rows on which the run's two models differ, and write down the test; False: it was begun before.

    The same pool again is the same test: it goes on with the labels that it has.
    """
    run, columns = with_columns(folder)
    if run.facts.task == "numbers":
        raise RunError(f"{folder}: predicts numbers, which nearly always differ; label rows and use: safegain certify")
    if run.facts.verdict is not None and run.facts.verdict.outcome == "fell back":
        raise RunError(f"{folder}: handed back its reference, so that there are no two models to compare")
    with locked(folder):
        found = read_rows(pool, columns, id=id, group=group)
        estimator, X = ready(run, found.table)
        if _goes_on(run, D := digests(X), ids := _ids(found, len(X)), claims):
            return False
        ledger = estimator.ledger_
        name_rows(run, ledger, found.ids)
        if allow is not None:
            ledger.allow(allow)
        try:
            stream = estimator.certify_stream(X, claims, groups=found.groups)
        except UsedRows as error:
            raise BadFile(
                f"{pool}: {len(error.rows)} rows ({found.table.place(error.rows[0])} first) {error.what}; a "
                "certificate needs fresh ones. If they are others that look the same, say why: --allow REASON"
            ) from None
        if not len(stream.order):
            raise BadFile(
                f"{pool}: the model and its reference say the same of all {len(X):,} rows, so that none is to be "
                "labelled; a larger file may have rows on which they differ"
            )
        facts = certificate_facts.Proof(
            file=str(pool),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            test=stream.test,
            delta=claims.delta,
            level=stream.claims.delta,
            tolerance=stream.claims.tolerance_of_error,
            per_class=claims.per_class,
            groups=None if found.groups is None else [str(name) for name in np.unique(found.groups)],
            allowed=allow,
            remarks=list(stream.remarks),
        )
        arrays = _arrays(run, stream, X, (D, ids), found.groups)
        shown = _shown(found, stream.order, {name for name, kind in columns.items() if kind == "image"})
        write_proof(folder, run.next_number, facts, arrays, shown)
        write_ledger(folder, ledger)
    return True


def _goes_on(run: Run, D: np.ndarray, ids: np.ndarray, claims: Claims) -> bool:
    """Whether the last proof is of these rows and claims, and has not ended."""
    if (proof := latest_proof(run)) is None:
        return False
    try:
        facts, known = proof.file.facts, proof.file.arrays
        mine = (claims.delta, claims.tolerance_of_error, claims.per_class)
        same = mine == (facts.delta, facts.tolerance, facts.per_class)
        same = same and known.numbers.max() < len(D) and np.array_equal(D[known.numbers], known.digests)
        same = same and np.array_equal(ids[known.numbers], known.ids)
        return bool(same) and not proof.over
    finally:
        proof.close()


def _ids(found: RowsToUse, n: int) -> np.ndarray:
    return np.zeros((n, 2), np.uint64) if found.ids is None else id_digests(found.ids)


def _arrays(
    run: Run, stream: Disagreements, X: np.ndarray, known_by: tuple[np.ndarray, np.ndarray], groups: np.ndarray | None
) -> ProofArrays:
    """In places among the rows that count, and in numbers of classes."""
    counted = np.flatnonzero(stream.parts["all rows"])
    codes = {label: code for code, label in enumerate(run.facts.classes or [])}
    new, old = (np.array([codes[label] for label in said.tolist()]) for said in (stream.said_new, stream.said_old))
    D, ids = known_by
    group = np.zeros(len(D), np.int64) if groups is None else np.unique(groups, return_inverse=True)[1]
    return ProofArrays(
        digests=D[counted],
        ids=ids[counted],
        numbers=counted,
        groups=group[counted].astype(np.int64),
        order=np.searchsorted(counted, stream.order),
        rows=X[stream.order].reshape(len(stream.order), -1),
        new=new,
        old=old,
    )


def _shown(found: RowsToUse, numbers: np.ndarray, images: set[str]) -> Any:
    """Features alone: a label in the file stays unseen."""
    beside = found.table.path.parent
    pictures = [found.table.columns[name] for name in found.table.columns if name in images]
    small = [thumbnail(pictures[0], int(row), beside) for row in numbers] if pictures else None
    return example_frame(found.table.columns, numbers, small)
