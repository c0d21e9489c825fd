"""Tests by disagreements made by hand, in run folders made by hand: no model is needed to label rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from safegain.certificates.fresh import in_drawn_order
from safegain.certificates.ledger import Ledger
from safegain.data.digest import digests
from safegain.runs.certificate_facts import Proof
from safegain.runs.ledger_file import write_ledger
from safegain.runs.proof_file import ProofArrays, read_proofs, write_proof
from tests.run_folders import CLASSES


def make_proof(folder: Path, *, rows: int = 400, differing: int = 60, number: int = 1, groups: bool = False, **facts):
    """A pool of fresh rows, on the first of which the two models differ; what is right is in `right_label`."""
    random = np.random.default_rng(number)
    X = random.normal(size=(rows, 3))
    D = digests(X)
    exact = np.zeros(rows, np.uint64)
    order = in_drawn_order(D, exact, np.sort(random.choice(rows, differing, replace=False)))
    new = random.integers(len(CLASSES), size=differing)
    old = (new + random.integers(1, len(CLASSES), size=differing)) % len(CLASSES)
    arrays = ProofArrays(
        digests=D,
        exact=exact,
        ids=np.zeros_like(D),
        cells=np.zeros_like(D),
        once=np.ones(rows, bool),
        groups=(np.arange(rows) % 2 if groups else np.zeros(rows)).astype(np.int64),
        order=order,
        rows=X[order],
        new=new,
        old=old,
    )
    values = [json.dumps({"age": str(row), "comment": f"the row {row}"}) for row in order.tolist()]
    shown = pd.DataFrame({"row": order, "values": values, "picture": [None] * differing})
    usual = {
        "file": "fresh.csv",
        "created": "2026-01-31T12:00:00+00:00",
        "test": number - 1,
        "delta": 0.05,
        "level": 0.04,
        "tolerance": 0.0,
        "per_class": False,
        "groups": ["north", "south"] if groups else None,
        "allowed": None,
        "remarks": ["This is test 1."],
    }
    if number == 1:
        write_ledger(folder, Ledger())
    write_proof(folder, number, Proof(**usual | facts), arrays, shown)
    return folder


def new_says(folder: Path, place: int) -> int:
    """The number of the class that wins the row."""
    return int(read_proofs(folder)[-1].arrays.new[place])


def old_says(folder: Path, place: int) -> int:
    return int(read_proofs(folder)[-1].arrays.old[place])
