"""Certificates by disagreements, computed anew from the rows and labels that a run has stored."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safegain.certificates.answers import said_of
from safegain.certificates.certificate import counted
from safegain.certificates.claims import Claims
from safegain.certificates.fresh import Fresh, in_drawn_order, remarks
from safegain.certificates.ledger import About, Ledger, UsedRows
from safegain.data.digest import digests
from safegain.jobs.ready import know_ids
from safegain.runs import findings
from safegain.runs.certificate_facts import Certificate
from safegain.runs.certificate_facts import Proof as ProofFacts
from safegain.runs.folder import Run, RunError, certificate_path, open_run, read_typed
from safegain.runs.loading import load
from safegain.runs.proof import Proof, certificate_of
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
    path, problems = certificate_path(run.folder, file.number), _problems_of_rows(run, file, estimator)
    with closing(Proof(run, file)) as proof:
        stored = read_typed(path, Certificate) if path.exists() else None
        if stored is None:
            n = len(proof.stream.labels)
            problems.append(f"there is no such file, only {counted(n, 'label')}; safegain review writes it down")
        labels = proof.stream.labels
        if stored is not None and stored.pool is not None:
            labels = labels[: stored.pool.labelled]  # some may have followed
        anew = findings.proof(certificate_of(file, proof.classes, labels))
    assert anew is not None
    if stored is not None:
        fields = (name for name in Certificate.__struct_fields__ if name not in ("file", "created"))
        differing = [name for name in fields if getattr(stored, name) != getattr(anew, name)]
        problems += [f"its {name} is not what the stored labels lead to" for name in differing[:1]]
    return Verified(path.name, anew.sentence, problems)


def _problems_of_rows(run: Run, file: ProofFile, estimator: Any) -> list[str]:
    arrays, facts, ledger = file.arrays, file.facts, estimator.ledger_
    classes = np.array(run.facts.classes, dtype=object)
    drawn = in_drawn_order(arrays.digests, arrays.exact, np.sort(arrays.order))
    try:
        models = (estimator.model_, estimator.reference_model_)
        new, old = (said_of(model, arrays.rows, "predict", "a model") for model in models)
    except ValueError as error:
        return [str(error)]
    if facts.test >= len(ledger.trials):
        return ["the ledger knows no such test"]
    before, trial = _before(ledger, facts.test), ledger.trials[facts.test]
    end = len(before.tested) + trial.rows
    claims = Claims(facts.delta, tolerance=facts.tolerance)
    try:
        once, twins = _known(run, before, arrays, facts)
    except UsedRows:
        return ["its rows were in the fit, or tested before"]
    said = remarks(claims, int((~once).sum()), twins, facts.allowed, before.trials, trial)
    checks = {
        "the stored rows are not those of the pool": np.array_equal(digests(arrays.rows), arrays.digests[arrays.order]),
        "its rows are not in the order that was drawn": np.array_equal(drawn, arrays.order),
        "the model says something else of its rows": np.array_equal(new.astype(object), classes[arrays.new]),
        "the reference says something else of its rows": np.array_equal(old.astype(object), classes[arrays.old]),
        "the ledger knows other rows": np.array_equal(ledger.tested[len(before.tested) : end], arrays.digests),
        "its level is not that of the ledger": (facts.delta, facts.level) == (trial.delta, trial.level),
        "other rows repeat others": np.array_equal(once, arrays.once),
        "its remarks are not what the ledger leads to": list(said) == facts.remarks,
    }
    return [problem for problem, right in checks.items() if not right]


def _before(ledger: Ledger, test: int) -> Ledger:
    """The ledger as it was before a test."""
    before, rows = ledger.after(ledger.learned_from), sum(trial.rows for trial in ledger.trials[test:])
    first = len(ledger.tested) - rows
    before.trials, before.tested = ledger.trials[:test], ledger.tested[:first]
    before.tested_ids, before.tested_cells = ledger.tested_ids[:first], ledger.tested_cells[:first]
    return before


def _known(run: Run, before: Ledger, arrays: ProofArrays, facts: ProofFacts) -> tuple[np.ndarray, int]:
    """Which rows of the pool count once, and how many are like used ones though their ids are others; or UsedRows."""
    names, cells = (each if each.any() else None for each in (arrays.ids, arrays.cells))
    if names is not None:
        know_ids(run, before)
    pool = Fresh.known(arrays.digests, arrays.exact, About(names, cells, facts.allowed), before)
    return pool.once, pool.twins
