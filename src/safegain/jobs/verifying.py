"""Certificates by disagreements, computed anew from the rows and labels that a run has stored."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safegain.certificates.answers import said_of
from safegain.certificates.ledger import Ledger, UsedRows, order_seed
from safegain.data.digest import among, digests
from safegain.jobs.ready import know_ids
from safegain.runs import findings
from safegain.runs.certificate_facts import Certificate
from safegain.runs.folder import Run, RunError, certificate_path, open_run, read_typed
from safegain.runs.loading import load
from safegain.runs.proof import Proof
from safegain.runs.proof_file import ProofArrays, ProofFile, read_proofs


@dataclass(frozen=True)
class Verified:
    """A certificate, and what was found wrong with it."""

    file: str
    sentence: str
    problems: list[str]


def verify_proofs(folder: Path) -> list[Verified]:
    """Of each test by disagreements, oldest first."""
    run, files = open_run(folder), read_proofs(folder)
    if not files:
        raise RunError(f"{folder}: has no test by disagreements; begin one with: safegain review {folder} --pool FILE")
    estimator = load(folder).named_steps["model"]
    return [_verified(run, file, estimator) for file in files]


def _verified(run: Run, file: ProofFile, estimator: Any) -> Verified:
    path, proof = certificate_path(run.folder, file.number), Proof(run, file)
    try:
        anew = findings.proof(proof.certificate)
        assert anew is not None
        problems = _problems_of_rows(run, file, estimator)
        if path.exists():
            stored = read_typed(path, Certificate)
            fields = (name for name in Certificate.__struct_fields__ if name not in ("file", "created"))
            differing = [name for name in fields if getattr(stored, name) != getattr(anew, name)]
            problems += [f"its {name} is not what the stored labels lead to" for name in differing[:1]]
        elif proof.over:
            problems.append("it has ended and is not written down; open it once more with safegain review")
        return Verified(path.name, anew.sentence, problems)
    finally:
        proof.close()


def _problems_of_rows(run: Run, file: ProofFile, estimator: Any) -> list[str]:
    arrays, facts, ledger = file.arrays, file.facts, estimator.ledger_
    classes = np.array(run.facts.classes, dtype=object)
    drawn = np.random.default_rng(order_seed(arrays.digests)).permutation(np.sort(arrays.order))
    new, old = (said_of(model, arrays.rows, "predict", "") for model in (estimator.model_, estimator.reference_model_))
    levels = [facts.delta * 4 / 5 ** (1 + failed) for failed in range(facts.test + 1)]
    checks = {
        "the stored rows are not those of the pool": np.array_equal(digests(arrays.rows), arrays.digests[arrays.order]),
        "its rows are not in the order that was drawn": np.array_equal(drawn, arrays.order),
        "the model says something else of its rows": np.array_equal(new.astype(object), classes[arrays.new]),
        "the reference says something else of its rows": np.array_equal(old.astype(object), classes[arrays.old]),
        "the ledger does not know its rows": bool(among(arrays.digests, ledger.tested).all()),
        "its level is none that the ledger gives": any(math.isclose(facts.level, level) for level in levels),
        "its rows were in the fit": facts.allowed is not None or _are_new(run, arrays, ledger),
    }
    return [problem for problem, right in checks.items() if not right]


def _are_new(run: Run, arrays: ProofArrays, ledger: Ledger) -> bool:
    """Whether the pool had no part in the fit, by what its test has asked: ids where there are some, else values."""
    known = Ledger()
    known.learned_from = ledger.learned_from
    if arrays.ids.any():
        know_ids(run, known)
        known.named = arrays.ids
    try:
        return len(known.fresh(arrays.digests)) == len(arrays.digests)
    except UsedRows:
        return False
