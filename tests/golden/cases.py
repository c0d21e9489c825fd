"""Small fits whose outcomes were recorded: what changes one of them says why.

`python -m tests.golden.cases` records anew those that have changed, and names them.
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse
import torch
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from safegain import (
    Adam,
    Boosting,
    Bootstrap,
    DeepNetwork,
    Descent,
    Forest,
    Free,
    GradientDescent,
    Module,
    Momentum,
    Network,
    PerClass,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    Structured,
)
from tests.quick import quick_evidence

Data = tuple[Any, np.ndarray, np.ndarray, Any]  # X, y, trusted, rows to predict


def digits(n: int = 600, n_trusted: int = 150, *, gaps: float = 0.0, dtype: type = np.float64) -> Data:
    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    order = random.permutation(len(y))
    X, y = X[order].astype(dtype), y[order]
    trusted = np.arange(n) % 4 == 0 if n_trusted == n // 4 else np.arange(n) < n_trusted
    noisy = np.where(~trusted & (random.random(n) < 0.4), (y[:n] + 1) % 10, y[:n])
    if gaps:
        noisy = np.where(~trusted & (random.random(n) < gaps), -1, noisy)
    return X[:n], noisy, trusted, X[n : n + 300]


def more_digits() -> Data:
    return digits(800, 300)


def numbers(*, gaps: float = 0.0) -> Data:
    X, y = load_diabetes(return_X_y=True)
    random = np.random.default_rng(1)
    trusted = np.arange(len(y)) % 4 == 0
    noisy = np.where(~trusted & (random.random(len(y)) < 0.4), y + 200 * random.standard_normal(len(y)), y)
    if gaps:
        noisy = np.where(~trusted & (random.random(len(y)) < gaps), np.nan, noisy)
    return X, noisy, trusted, X[:100] + 0.01


def sparse(data: Data) -> Data:
    X, y, trusted, X_new = data
    return scipy.sparse.csr_array(X), y, trusted, scipy.sparse.csr_array(X_new)


def module() -> torch.nn.Module:
    layers = [torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 10)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for layer in (layers[0], layers[3]):
            layer.reset_parameters()
    return torch.nn.Sequential(*layers)


FEW_TREES = Forest(n_trees=20)
NETWORK = Network(n_hidden=32, recipe=Recipe(n_steps=150, n_looks=5))


def network(n_hidden: int, rule: Any = None, **settings: Any) -> Network:
    return Network(n_hidden, solver=Descent(rule or GradientDescent(), **settings))


def free(**settings: Any) -> dict[str, Any]:
    return {"search": Free(**{"outer_step": "adam", **settings}), "reference": "raw", "random_state": 0}


def classes(*args: Any, **settings: Any) -> Callable[[], Any]:
    return lambda: PGSClassifier(*args, **{"random_state": 0, **settings})


def regression(*args: Any, **settings: Any) -> Callable[[], Any]:
    return lambda: PGSRegressor(*args, **{"random_state": 0, **settings})


def residuals(*args: Any, **settings: Any) -> Callable[[], Any]:
    return regression(*args, search="residuals", **settings)


STRUCTURED = {"reference": "raw"}
DEEP = DeepNetwork(n_hidden=16, n_epochs=10)
CASES: dict[str, tuple[Callable[[], Any], Callable[[], Data]]] = {
    "auto network": (classes(NETWORK), digits),
    "auto network, gaps": (classes(NETWORK), lambda: digits(gaps=0.3)),
    "auto network, float32": (classes(NETWORK), lambda: digits(dtype=np.float32)),
    "auto network, trusted": (classes(NETWORK, reference="trusted", safeness=PerClass()), digits),
    "auto network, certificate": (classes(NETWORK, certificate=0.1, reference="raw"), more_digits),
    "auto contest": (classes([FEW_TREES, Boosting(max_iter=20), "kernel", DEEP, NETWORK, "linear"]), digits),
    "auto softmax": (classes("linear"), digits),
    "auto softmax, sparse": (classes("linear"), lambda: sparse(digits())),
    "auto module": (lambda: PGSClassifier(_module(60), random_state=0), digits),
    "structured softmax": (classes("linear", search=Structured(n_outer=4), **STRUCTURED), digits),
    "structured network": (classes(network(16, n_steps=40), search=Structured(n_outer=3), **STRUCTURED), digits),
    "free softmax": (classes("linear", **free(n_outer=5)), digits),
    "free softmax, cholesky": (
        classes("linear", **free(n_outer=3, engine="cholesky", eps2=0.3, eps1=100.0)),
        lambda: digits(300, 75),
    ),
    "free softmax, gaps": (classes("linear", **free(n_outer=4, semi_supervised=True)), lambda: digits(gaps=0.5)),
    "free softmax, sparse": (classes("linear", **free(n_outer=4)), lambda: sparse(digits())),
    "free network": (classes(network(20, n_steps=60), **free(n_outer=4)), digits),
    "free network, adam": (
        classes(
            network(20, Adam(), n_steps=60, batch_size=100),
            safeness=PerClass() + Bootstrap(2),
            **free(n_outer=3, engine="truncated", penalty="hinge"),
        ),
        digits,
    ),
    "free network, recipe": (classes(NETWORK, **free(n_outer=3, outer_step="scaled")), digits),
    "free module": (lambda: PGSClassifier(_module(40), **free(n_outer=3)), digits),
    "free network, certificate": (
        classes(network(20, GradientDescent(0.3), n_steps=60), certificate=0.1, **free(n_outer=4)),
        more_digits,
    ),
    "numbers contest": (regression([FEW_TREES, Boosting(max_iter=20), "kernel", DEEP, "huber", "linear"]), numbers),
    "numbers contest, gaps": (regression(["huber", "linear"]), lambda: numbers(gaps=0.3)),
    "numbers contest, sparse": (regression(["huber", "linear"]), lambda: sparse(numbers())),
    "residuals ridge": (residuals(), numbers),
    "residuals ridge, gaps": (residuals(), lambda: numbers(gaps=0.3)),
    "residuals ridge, sparse": (residuals(), lambda: sparse(numbers())),
    "residuals network": (residuals(network(16, n_steps=60), reference="raw"), numbers),
    "residuals ridge, certificate": (residuals(certificate=0.2), numbers),
    "numbers free ridge": (regression(**free(n_outer=5, eps2=300.0)), numbers),
    "numbers free ridge, gaps": (regression(search=Free(n_outer=5, semi_supervised=True)), lambda: numbers(gaps=0.3)),
    "numbers free network": (regression(network(16, Momentum(), n_steps=40), **free(n_outer=3)), numbers),
    "refit logistic": (classes(LogisticRegression(max_iter=60)), digits),
    "refit forest": (classes(RandomForestClassifier(20)), digits),
    "refit neighbours": (classes(make_pipeline(StandardScaler(), KNeighborsClassifier())), digits),
    "refit forest, certificate": (classes(RandomForestClassifier(20), certificate=0.1), more_digits),
    "refit ridge": (regression(Ridge()), numbers),
    "refit tree": (regression(DecisionTreeRegressor(min_samples_leaf=5)), numbers),
}


# With all of the evidence; the others are about something else.
WHOLE = ("auto contest", "numbers contest", "auto network, gaps", "structured softmax", "refit logistic")


def _module(n_steps: int) -> Module:
    return Module(module(), solver=Descent(GradientDescent(0.1), n_steps=n_steps))


def outcome(name: str) -> dict[str, np.ndarray]:
    """What a fit of that name ends with."""
    make, data = CASES[name]
    X, y, trusted, X_new = data()
    with nullcontext() if name in WHOLE else quick_evidence():
        model = make().fit(X, y, trusted=trusted)
    found = {
        "predicted": model.predict(X_new),
        "w": model.sample_weight_,
        "moved": model.record_.moved,
        "corrected": model.corrected_labels_,
        "held": model.held_out_,
        "aside": model.set_aside_,
    }
    if hasattr(model, "predict_proba"):
        found["p"] = model.predict_proba(X_new)
    return found


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def summary(array: np.ndarray) -> list[float]:
    """A few numbers that hold on other machines too, up to rounding."""
    flat = np.asarray(array, dtype=float).ravel()
    return [float(flat.mean()), float(flat.std())]


def machine() -> str:
    """What the last bits of an outcome depend on."""
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    capability = torch.backends.cpu.get_cpu_capability()
    return f"{names[0].partition(':')[2].strip()}, {capability}, torch {torch.__version__}, numpy {np.__version__}"


RECORDS = Path(__file__).parent / "outcomes.json"


def record() -> None:
    torch.set_num_threads(1)
    kept = json.loads(RECORDS.read_text())
    kept["machine"], fits = machine(), {}
    for name in CASES:
        fits[name] = {part: {"digest": digest(a), "summary": summary(a)} for part, a in outcome(name).items()}
        if fits[name] != kept["fits"].get(name):
            print(name)
    lines = {
        part: ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in own.items())
        for part, own in (("fits", fits), ("ranks", _of_ranks(kept["ranks"])))
    }
    told = ",\n".join(f' "{part}": {{\n{own}\n }}' for part, own in lines.items())
    RECORDS.write_text(f'{{\n "machine": {json.dumps(kept["machine"])},\n{told}\n}}\n')


def _of_ranks(kept: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Digests of the same parts of fits in two processes."""
    from tests.data.test_ranks import finish, start

    with TemporaryDirectory() as folder:
        finish(start(Path(folder), 2, "softmax", "ridge"))
        found = {name: np.load(Path(folder) / f"{name}.npz") for name in kept}
        return {name: {part: digest(found[name][part]) for part in parts} for name, parts in kept.items()}


if __name__ == "__main__":
    record()
