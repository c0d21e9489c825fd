"""One process of a run over several: it fits on its share of the rows.

What it found is written to FOLDER/CASE.RANK.npz, or the error to CASE.RANK.error.
"""

import os
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch.distributed as dist
from sklearn.datasets import load_diabetes, load_digits

from safegain import (
    Descent,
    Free,
    GradientDescent,
    Linear,
    Network,
    Newton,
    PerClass,
    PGSClassifier,
    PGSRegressor,
)
from safegain.data.stages import Stages
from tests.quick import quick_evidence

LETTERS = np.array(list("abcdefghij"))


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    trusted = random.random(len(y)) < 0.2
    wrong = ~trusted & (random.random(len(y)) < 0.4)
    return X, np.where(wrong, (y + 1) % 10, y), trusted


def sorted_strings() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, trusted = digits()
    order = np.argsort(y, kind="stable")  # no rank has a row of every class
    return X[order], LETTERS[y[order]], trusted[order]


def half_labelled() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, trusted = digits()
    return X, np.where(trusted | (np.arange(len(y)) % 2 == 0), y, -1), trusted


def diabetes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y = load_diabetes(return_X_y=True)
    return X, y + 100 * (np.arange(len(y)) % 2), np.arange(len(y)) % 4 == 0


PAPER = {"reference": "raw", "random_state": 0}
EXACT = Linear(solver=Newton(tol=1e-12))


def network(n_steps: int, batch_size: int | None = None) -> Network:
    return Network(solver=Descent(GradientDescent(0.1), n_steps, batch_size))


CASES = {
    "softmax": (
        lambda: PGSClassifier(EXACT, search=Free(n_outer=4, eps2=0.3), certificate=0.1, **PAPER),
        digits,
    ),
    "few": (
        lambda: PGSClassifier(EXACT, search=Free(n_outer=4, eps2=0.3), certificate=0.1, **PAPER),
        lambda: tuple(part[:600] for part in digits()),
    ),
    "network": (lambda: PGSClassifier(network(40), search=Free(n_outer=3, eps2=0.2), **PAPER), digits),
    "batches": (lambda: PGSClassifier(network(60, 100), search=Free(n_outer=3), **PAPER), digits),
    "strings": (lambda: PGSClassifier(EXACT, search=Free(n_outer=3), safeness=PerClass(), **PAPER), sorted_strings),
    "unlabelled": (lambda: PGSClassifier(EXACT, search=Free(n_outer=3), **PAPER), half_labelled),
    "ridge": (lambda: PGSRegressor(search=Free(n_outer=6), certificate=0.1, **PAPER), diabetes),
    "references": (lambda: PGSRegressor(search=Free(n_outer=3), random_state=0), diabetes),
    "default classes": (
        lambda: PGSClassifier(["linear", "kernel"], certificate=0.1, random_state=0),
        lambda: tuple(part[:600] for part in digits()),
    ),
    "default numbers": (lambda: PGSRegressor(["boosting", "linear"], random_state=0), diabetes),
}


def fit(case: str, rank: int, size: int, **settings: object) -> dict[str, np.ndarray]:
    make, data = CASES[case]
    X, y, trusted = data()
    mine = slice(len(y) * rank // size, len(y) * (rank + 1) // size)
    with quick_evidence() if case.startswith("default") else nullcontext():
        model = make().set_params(**settings).fit(X[mine], y[mine], trusted=trusted[mine])
    return {
        "w": model.sample_weight_,
        "Q": getattr(model, "label_distribution_", getattr(model, "label_shift_", None)),
        "corrected": model.corrected_labels_.astype(str),
        "theta": parameters(model.model_, X),
        "reference": parameters(model.reference_model_, X),
        "masks": np.stack([model.held_out_, model.set_aside_], axis=1),
        "compared": model.comparison_[["row", "loss"]].to_numpy(float),
        "status": np.array([model.safeness_.status]),
        "certificate": np.array([str(model.certificate_)]),
    }


def parameters(model: object, X: np.ndarray) -> np.ndarray:
    """Or what the model says of some rows."""
    if hasattr(model, "theta"):
        return model.theta.numpy()
    return (model.predict_proba if hasattr(model, "classes_") else model.predict)(X[:100])


def dies_at(name: str) -> None:
    """In the place of the stage of that name."""
    begin = Stages.begin

    def watched(stages: Stages, stage: str) -> None:
        if stage == name:
            os._exit(9)
        begin(stages, stage)

    Stages.begin = watched


def work(folder: Path, rank: int, size: int, cases: tuple[str, ...]) -> None:
    rendezvous = f"file://{folder}/rendezvous"
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=size, timeout=timedelta(seconds=60))
    for case in cases:
        dies = case.startswith("dies:")
        settings: dict = {}
        if dies or case.startswith("resumes:"):
            case, settings["checkpoint"] = case.split(":")[1], folder / "checkpoint"
        if dies and rank == size - 1 and case.startswith("default"):
            dies_at("screening")
        elif dies and rank == size - 1:
            settings["search__callbacks"] = (lambda record, _: os._exit(9) if record["step"] == 2 else None,)
        try:
            np.savez(folder / f"{case}.{rank}.npz", **fit(case, rank, size, **settings))
        except Exception as error:
            (folder / f"{case}.{rank}.error").write_text(f"{type(error).__name__}: {error}")
            raise SystemExit(1) from error
    dist.barrier()
    dist.destroy_process_group()
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    if any("gloo" in name for name in threads):  # they may abort the process when Python ends
        (folder / f"threads.{rank}.error").write_text(f"the group is destroyed, but its threads go on: {threads}")
        raise SystemExit(1)
