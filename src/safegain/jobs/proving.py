"""A test by disagreements of a run's model, from a file of fresh rows: begun here, it goes on with every label."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from safegain.certificates.claims import Claims
from safegain.certificates.ledger import UsedRows
from safegain.certificates.stream import Disagreements, by_disagreements
from safegain.data.digest import digests, id_digests
from safegain.encoding import thumbnail
from safegain.jobs.ready import Ready, describe_rows, used_rows, with_columns
from safegain.jobs.shown import example_frame
from safegain.runs import certificate_facts
from safegain.runs.folder import Run, RunError
from safegain.runs.ledger_file import write_ledger
from safegain.runs.lock import locked
from safegain.runs.proof_file import ProofArrays, read_proofs, write_proof
from safegain.tables import BadFile, read_rows
from safegain.tables.rows import RowsToUse

LONGEST = 100_000  # characters of a text: whoever labels a row has to see all of it


def begin_proof(
    folder: Path,
    pool: Path,
    claims: Claims,
    *,
    id: str | None = None,
    group: str | None = None,
    allow: str | None = None,
) -> tuple[int, bool]:
    """Draw the rows on which the run's two models differ, and write down the test: its number, and whether it is new.

    The same pool again is the same test: it goes on with the labels that it has.
    """
    run, columns = with_columns(folder)
    if run.facts.task == "numbers":
        raise RunError(f"{folder}: predicts numbers, which nearly always differ; label rows and use: safegain certify")
    if run.facts.verdict is not None and run.facts.verdict.outcome == "fell back":
        raise RunError(f"{folder}: handed back its reference, so that there are no two models to compare")
    claims = by_disagreements(claims, groups=group)
    with locked(folder):
        found = read_rows(pool, columns, id=id, group=group)
        model = Ready.of(run, found.table.path)
        estimator, X = model.estimator, model.rows(found.table)
        D, ids = digests(X), _ids(found, len(X))
        if (number := _going_on(run, D, ids, claims, found.groups, allow)) is not None:
            return number, False
        ledger = estimator.ledger_
        describe_rows(run, ledger, found)
        if allow is not None:
            ledger.allow(allow)
        try:
            stream = estimator.certify_stream(X, claims, groups=found.groups)
        except UsedRows as error:
            raise used_rows(error, found.table) from None
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
            groups=_names(found.groups),
            allowed=allow,
            twins=stream.pool.twins,
            remarks=list(stream.remarks),
        )
        arrays = _arrays(run, stream, X, found.groups)
        names = {} if id is None or found.ids is None else {id: found.ids}
        shown = _shown(found, names, stream.order, {name for name, kind in columns.items() if kind == "image"})
        number = run.next_number
        write_proof(folder, number, facts, arrays, shown)
        write_ledger(folder, ledger)
    return number, True


def _going_on(
    run: Run, D: np.ndarray, ids: np.ndarray, claims: Claims, groups: np.ndarray | None, allow: str | None
) -> int | None:
    """The number of the proof of these rows and claims, be it that it has ended; RunError: the claims are others."""
    asked = (claims.delta, claims.tolerance_of_error, claims.per_class, _names(groups))
    for file in read_proofs(run.folder):
        facts, known = file.facts, file.arrays
        other_names = ids.any() and known.ids.any() and not np.array_equal(ids, known.ids)
        if other_names or not np.array_equal(D, known.digests):
            continue
        same = asked == (facts.delta, facts.tolerance, facts.per_class, facts.groups) and allow in (None, facts.allowed)
        if same and np.array_equal(ids, known.ids):
            return file.number
        raise RunError(
            f"{run.folder}: has begun the test of these rows with other options, as proof-{file.number}.json tells "
            f"(certificate {facts.delta:g}, tolerance {facts.tolerance:g}, per_class {facts.per_class}, groups "
            f"{facts.groups}, {'with' if known.ids.any() else 'without'} ids); repeat those, or give other fresh rows"
        )
    return None


def _names(groups: np.ndarray | None) -> list[str] | None:
    return None if groups is None else [str(name) for name in np.unique(groups)]


def _codes(groups: np.ndarray | None, n: int) -> np.ndarray:
    return np.zeros(n, np.int64) if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _ids(found: RowsToUse, n: int) -> np.ndarray:
    return np.zeros((n, 2), np.uint64) if found.ids is None else id_digests(found.ids)


def _arrays(run: Run, stream: Disagreements, X: np.ndarray, groups: np.ndarray | None) -> ProofArrays:
    """In numbers of rows, and of classes."""
    codes = {label: code for code, label in enumerate(run.facts.classes or [])}
    new, old = (np.array([codes[label] for label in said.tolist()]) for said in (stream.said_new, stream.said_old))
    pool, unknown = stream.pool, np.zeros_like(stream.pool.digests)
    return ProofArrays(
        digests=pool.digests,
        exact=pool.exact,
        ids=unknown if pool.about.names is None else pool.about.names,
        cells=unknown if pool.about.cells is None else pool.about.cells,
        once=pool.once,
        groups=_codes(groups, len(X)),
        order=stream.order,
        rows=X[stream.order].reshape(len(stream.order), -1),
        new=new,
        old=old,
    )


def _shown(found: RowsToUse, names: dict[str, np.ndarray], numbers: np.ndarray, images: set[str]) -> Any:
    """Names and features alone: a label in the file stays unseen."""
    beside = found.table.path.parent
    pictures = [found.table.columns[name] for name in found.table.columns if name in images]
    small = [thumbnail(pictures[0], int(row), beside) for row in numbers] if pictures else None
    return example_frame(names | found.table.columns, numbers, small, LONGEST)
