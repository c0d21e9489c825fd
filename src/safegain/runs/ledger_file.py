"""The ledger of a run: rows that were tested, and how the tests ended. What was learned from is in the labels."""

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from safegain.certificates.ledger import About, Ledger, Trial
from safegain.data.files import written
from safegain.runs.folder import LEDGER, RunError
from safegain.runs.proof_file import read_proofs

TESTED = ("tested", "tested_ids", "tested_cells")
TRIALS: dict[str, type] = {
    "deltas": np.float64,
    "levels": np.float64,
    "outcomes": np.bool_,
    "rows": np.int64,
}  # fields of a Trial


def write_ledger(folder: Path, ledger: Ledger) -> None:
    trials = {name: [trial[place] for trial in ledger.trials] for place, name in enumerate(TRIALS)}
    arrays: dict[str, np.ndarray] = {name: np.array(each, TRIALS[name]) for name, each in trials.items()}
    with written(folder / LEDGER) as beside:
        beside.write_bytes(save({**{name: getattr(ledger, name) for name in TESTED}, **arrays}))


def read_ledger(folder: Path, learned_from: np.ndarray) -> Ledger:
    """With the digests of the rows that the run's fit has learned from.

    A proof is written before the ledger knows of it. Where it was killed in between, it is added here.
    """
    try:
        found = load_file(folder / LEDGER)
        tested = {name: found[name] for name in TESTED}
        trials = [found[name] for name in TRIALS]
    except (OSError, SafetensorError, KeyError) as error:
        raise RunError(f"{folder / LEDGER}: cannot be read ({error}), so that nobody knows what was tested") from None
    digested = all(each.dtype == np.uint64 and each.shape == (len(each), 2) for each in tested.values())
    digested = digested and len({len(each) for each in tested.values()}) == 1
    of_types = all(each.dtype == dtype for each, dtype in zip(trials, TRIALS.values(), strict=True))
    if not (digested and of_types) or {each.shape for each in trials} != {(len(trials[0]),)}:
        raise RunError(f"{folder / LEDGER}: is damaged (its arrays have other shapes or types); fit again")
    ledger = Ledger().after(learned_from)
    for name, each in tested.items():
        setattr(ledger, name, each)
    ledger.trials = [Trial(*each) for each in zip(*(each.tolist() for each in trials), strict=True)]
    for proof in read_proofs(folder):
        if proof.facts.test == len(ledger.trials):
            facts, arrays = proof.facts, proof.arrays
            trial = Trial(facts.delta, facts.level, certified=False, rows=len(arrays.digests))
            ledger.write(arrays.digests, trial, About(arrays.ids, arrays.cells))
    return ledger
