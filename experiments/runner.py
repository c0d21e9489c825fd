"""Doing runs: one of them, and many of them with what fails set aside."""

import os
import platform
import subprocess
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib

from experiments.plan import Run
from experiments.score import fit_and_score
from experiments.store import Record, Store


@dataclass(frozen=True)
class Failed:
    run: Run
    trace: str

    @property
    def reason(self) -> str:
        return self.trace.strip().splitlines()[-1]


@dataclass(frozen=True)
class Done:
    run: Run
    record: Record


def execute(run: Run) -> Record:
    """Make the problem, let the method measure itself on it or be fitted and scored, and say on what this was done."""
    problem = import_module(f"experiments.data.{run.data}").problem(run.setting, run.seed, quick=run.quick)
    method = import_module(f"experiments.methods.{run.method}")
    began = time.perf_counter()
    if "measure" in vars(method):
        metrics = method.measure(problem, run.seed, quick=run.quick, **run.options)
    else:
        metrics = fit_and_score(method.estimator(run.seed, quick=run.quick, **run.options), problem)
    seconds = time.perf_counter() - began
    return {
        "run": run.as_dict(),
        "metrics": metrics,
        "seconds": round(seconds, 3),
        "versions": versions(),
        "machine": machine(),
    }


def missing_package(method: str) -> str | None:
    """The package that a method needs and that is not installed, if there is one."""
    needed = vars(import_module(f"experiments.methods.{method}")).get("NEEDS", ())
    return next((name for name in needed if find_spec(name) is None), None)


def run_all(runs: Iterable[Run], store: Store) -> Iterator[Done | Failed]:
    """Do the runs that are not stored, store each as it ends, and yield it.

    How many at a time and where is what joblib.parallel_config says around this call.
    """
    waiting = [run for run in runs if not store.exists(run)]
    # Batches of one: a run that is finished must not wait for its neighbours before it is stored.
    parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
    for outcome in parallel(joblib.delayed(_attempt)(run) for run in waiting):
        if isinstance(outcome, Done):
            store.write(outcome.record)
        else:
            store.write_error(outcome.run, outcome.trace)
        yield outcome


def _attempt(run: Run) -> Done | Failed:
    """In a worker: one thread, and an exception is a result like any other."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            return Done(run, execute(run))
    except Exception:
        return Failed(run, traceback.format_exc())


@cache
def versions() -> dict[str, str]:
    packages = {name: _version(name) for name in ("torch", "scikit-learn", "safegain")}
    return {"python": platform.python_version(), **packages, "code": _code(), "commit": commit()}


def _code() -> str:
    """What the package was when this was measured: stored results do not follow when code changes."""
    import safegain

    digest = sha256()
    for path in sorted(Path(safegain.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def commit() -> str:
    """The commit that is checked out, as git names it; "unknown" outside of a repository."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


@cache
def machine() -> dict[str, Any]:
    return {"cpu": _cpu_model(), "cores": os.cpu_count()}


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.is_file() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
