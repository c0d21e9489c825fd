"""What a test by disagreements has fixed before its first label, in four files of the run folder.

proof-K.safetensors   digests of the pool's rows, which of them differ, in which order, and their values
proof-K.parquet       the differing rows as people look at them
proof-K.json          claims and remarks; written last: without it there is no proof
proof-K.sqlite        the labels so far (proof.py)
"""

from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from safegain.data.files import written
from safegain.runs import columns
from safegain.runs.certificate_facts import Proof
from safegain.runs.folder import PROOF, damaged, read_parquet, read_typed


@dataclass(frozen=True)
class ProofArrays:
    """All m rows of the pool, of which q differ."""

    digests: np.ndarray  # (m, 2) uint64
    exact: np.ndarray  # (m,) uint64, without rounding, if some are alike; else zeros
    ids: np.ndarray  # (m, 2) uint64, of their names; zeros without any
    cells: np.ndarray  # (m, 2) uint64, of the rows as their file has them; zeros if that is not known
    once: np.ndarray  # (m,) bool: those that count if rows that are alike are copies
    groups: np.ndarray  # (m,) numbers of the groups; all 0 without any
    order: np.ndarray  # (q,) numbers of the rows, in the order in which they are labelled
    rows: np.ndarray  # (q, d) in that order, as the models take them
    new: np.ndarray  # (q,) numbers of the classes that the new model says
    old: np.ndarray  # (q,) and the reference

    def misfit(self) -> str | None:
        """What does not go together in arrays that anybody may have written."""
        m, q = len(self.digests), len(self.order)
        whole = (self.groups, self.order, self.new, self.old)
        if any(each.dtype != np.int64 or each.ndim != 1 for each in whole):
            return "arrays of numbers have other types or shapes"
        pairs = (self.digests, self.ids, self.cells)
        digested = all(each.dtype == np.uint64 and each.shape == (m, 2) for each in pairs)
        digested = digested and self.exact.dtype == np.uint64 and self.exact.shape == (m,)
        if not digested or self.rows.ndim != 2 or self.once.dtype != bool or self.once.ndim != 1:
            return "digests or rows have other types or shapes"
        if {len(self.once), len(self.groups)} != {m} or {len(self.rows), len(self.new), len(self.old)} != {q}:
            return "arrays have other lengths"
        if min(each.min(initial=0) for each in whole) < 0 or self.order.max(initial=-1) >= m:
            return "numbers are out of range"
        return "a row is there twice" if len(np.unique(self.order)) < q else None


@dataclass(frozen=True)
class ProofFile:
    folder: Path
    number: int
    facts: Proof

    @cached_property
    def arrays(self) -> ProofArrays:
        path = self.path("safetensors")
        try:
            found = load_file(path)
            arrays = ProofArrays(**{field.name: found[field.name] for field in fields(ProofArrays)})
        except (OSError, SafetensorError, KeyError) as error:
            raise damaged(path, str(error)) from None
        if bad := arrays.misfit():
            raise damaged(path, bad)
        return arrays

    @cached_property
    def shown(self) -> pd.DataFrame:
        """row, values, picture of the differing rows, in order."""
        shown = read_parquet(path := self.path("parquet"), columns.EXAMPLES)
        if not np.array_equal(shown["row"], self.arrays.order):
            raise damaged(path, "its rows are not those that differ")
        return shown

    def path(self, ending: str) -> Path:
        return proof_path(self.folder, self.number, ending)


def proof_path(folder: Path, number: int, ending: str) -> Path:
    return folder / f"proof-{number}.{ending}"


def read_proofs(folder: Path) -> list[ProofFile]:
    """Oldest first."""
    numbers = sorted(int(match[1]) for path in folder.iterdir() if (match := PROOF.fullmatch(path.name)))
    return [ProofFile(folder, each, read_typed(proof_path(folder, each, "json"), Proof)) for each in numbers]


def write_proof(folder: Path, number: int, facts: Proof, arrays: ProofArrays, shown: pd.DataFrame) -> None:
    with written(proof_path(folder, number, "safetensors")) as beside:
        own = {field.name: np.ascontiguousarray(getattr(arrays, field.name)) for field in fields(arrays)}
        beside.write_bytes(save(own))
    with written(proof_path(folder, number, "parquet")) as beside:
        shown.to_parquet(beside, index=False)
    with written(proof_path(folder, number, "json")) as beside:
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=1))
