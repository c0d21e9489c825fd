"""The ledger of a run: rows that were tested, and how the tests ended. What was learned from is in the labels."""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from safegain.certificates.ledger import Ledger
from safegain.data.files import written
from safegain.runs.folder import LEDGER, RunError
from safegain.runs.proof_file import read_proofs


def write_ledger(folder: Path, ledger: Ledger) -> None:
    with written(folder / LEDGER) as beside:
        outcomes = np.array(ledger.outcomes, dtype=bool)
        beside.write_bytes(save({"tested": ledger.tested, "tested_ids": ledger.tested_ids, "outcomes": outcomes}))


def read_ledger(folder: Path, learned_from: np.ndarray) -> Ledger:
    """With the digests of the rows that the run's fit has learned from.

    A proof is written before the ledger knows of it. Where it was killed in between, it is added here.
    """
    try:
        found = load_file(folder / LEDGER)
        tested, outcomes = found["tested"], found["outcomes"]
        ids = found.get("tested_ids", np.zeros_like(tested))
    except (OSError, SafetensorError, KeyError) as error:
        raise RunError(f"{folder / LEDGER}: cannot be read ({error}), so that nobody knows what was tested") from None
    digested = tested.dtype == ids.dtype == np.uint64 and tested.shape[1:] == (2,) and ids.shape == tested.shape
    if not digested or outcomes.dtype != bool or outcomes.ndim != 1:
        raise RunError(f"{folder / LEDGER}: is damaged (its arrays have other shapes or types); fit again")
    ledger = Ledger().after(learned_from)
    ledger.tested, ledger.tested_ids, ledger.outcomes = tested, ids, outcomes.tolist()
    for proof in read_proofs(folder):
        if proof.facts.test == len(ledger.outcomes):
            ledger.write(proof.arrays.digests, certified=False, ids=proof.arrays.ids)
    return ledger
