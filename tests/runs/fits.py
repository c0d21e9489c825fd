"""Small fits of every kind, each saved once: for tests of what is written and read."""

import tempfile

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safegain import (
    Boosting,
    Bootstrap,
    Claims,
    DeepNetwork,
    Descent,
    Forest,
    Free,
    Linear,
    Network,
    Neumann,
    PerClass,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    Reshaped,
    Structured,
)
from safegain.encoding import TableEncoder
from safegain.runs.saving import Story, facts_of_rows, write_run
from tests.quick import quick_evidence

SMALL = Network(n_hidden=8, recipe=Recipe(n_steps=20, n_looks=2))
SHORT = Descent(n_steps=20)


def rows(n=200, d=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    wrong = random.random(n) < 0.3
    return X, (X[:, 0] + 0.3 * random.normal(size=n) > 0).astype(int), wrong, np.arange(n) >= n - n // 2


def fitted(kind="linear", names=(0, 1), X=None, missing=(), few=None, **parameters):
    own, y, wrong, trusted = rows()
    trusted &= np.arange(len(y)) >= (0 if few is None else len(y) - few)
    labels = np.array(names)[np.where(wrong & ~trusted, 1 - y, y)]
    if len(missing):
        labels = labels.astype(type(missing[0]) if missing[0] is not None else object)
        labels[: len(missing)] = missing
    X = own if X is None else X(own)
    parameters = {"reference": "raw", "random_state": 0, **parameters}
    with quick_evidence():
        return PGSClassifier(kind, **parameters).fit(X, labels, trusted=trusted), X


def fitted_numbers(kind="linear", X=None, missing=0, **parameters):
    own, _, wrong, trusted = rows()
    y = 100 + 20 * own[:, 1] + 5 * np.sin(9 * own[:, 3]) + np.where(wrong & ~trusted, 80.0, 0.0)
    y[:missing] = np.nan
    X = own if X is None else X(own)
    parameters = {"reference": "raw", "random_state": 0, **parameters}
    with quick_evidence():
        return PGSRegressor(kind, **parameters).fit(X, y, trusted=trusted), X


def with_gaps(X):
    return np.where(X > 1.5, np.nan, X)


def frame(X):
    return pd.DataFrame(X, columns=["age", "income", "a=b", "ü"])


FITS = {
    "words, frame, certificate": lambda: fitted(names=("no", "yes, maybe"), X=frame, certificate=0.7),
    "recipe": lambda: fitted(SMALL),
    "network by a solver, float32": lambda: fitted(Network(solver=SHORT), X=lambda X: X.astype("f4")),
    "sparse": lambda: fitted(Linear(scaling="none"), X=scipy.sparse.csr_array),
    "bools": lambda: fitted(names=(False, True)),
    "floats with NaN": lambda: fitted(names=(0.0, 2.0), missing=(np.nan, np.nan)),
    "float classes": lambda: fitted(names=(0.0, 2.0)),
    "objects with None": lambda: fitted(names=np.array(["a", "b"], object), missing=(None, None)),
    "numbers with None": lambda: fitted(names=(3, 7), missing=(None,)),
    "whole numbers with -1": lambda: fitted(names=(3, 7), missing=(-1, -1)),
    "-1 and 1": lambda: fitted(names=(-1, 1)),
    "free, words, frame": lambda: fitted(names=("no", "yes, maybe"), X=frame, search=Free(n_outer=2)),
    "a list": lambda: fitted([SMALL, "linear", Forest(n_trees=9)], X=frame),
    "free": lambda: fitted(search=Free(n_outer=2), safeness=Bootstrap(2) + PerClass()),
    "structured": lambda: fitted(search=Structured(n_outer=2)),
    "neumann": lambda: fitted(search=Free(n_outer=2, engine=Neumann(terms=3))),
    "fall back": lambda: fitted(names=(3, 7), missing=(-1, -1), few=6),
    "not certified": lambda: fitted(certificate=Claims(1e-6, 30)),
    "numbers": lambda: fitted_numbers([Forest(n_trees=5), "huber", "linear"]),
    "reshaped": lambda: fitted_numbers(Reshaped(Boosting(max_iter=10), "yeo-johnson")),
    "numbers with gaps": lambda: fitted_numbers(["huber", Boosting(max_iter=10)], missing=5),
    "ridge": lambda: fitted_numbers(search="residuals", certificate=Claims(0.2, tolerance=0.1)),
    "ridge with gaps": lambda: fitted_numbers(search="residuals", missing=5),
    "ridge, free, workspace": lambda: fitted_numbers(search=Free(n_outer=2, workspace=tempfile.gettempdir())),
    "sparse ridge": lambda: fitted_numbers(search="residuals", X=scipy.sparse.csr_array),
    "forest": lambda: fitted(Forest(n_trees=9), X=frame),
    "boosting with gaps": lambda: fitted(Boosting(max_iter=5), names=("no", "yes"), X=with_gaps),
    "kernel": lambda: fitted("kernel", X=lambda X: X.astype("f4")),
    "deep": lambda: fitted(DeepNetwork(n_hidden=16, n_epochs=5)),
    "forest of numbers": lambda: fitted_numbers(Forest(n_trees=9), reference="best"),
    "boosting of numbers": lambda: fitted_numbers(Boosting(max_iter=5, categorical=(2,)), X=np.round),
    "kernel of numbers": lambda: fitted_numbers("kernel"),
    "deep of numbers": lambda: fitted_numbers(DeepNetwork(n_hidden=16, n_epochs=5)),
    "estimator": lambda: fitted(make_pipeline(StandardScaler(), LogisticRegression()), names=("no", "yes")),
    "trees of the user's": lambda: fitted(RandomForestClassifier(5), X=frame),
    "booster of the user's": lambda: fitted_numbers(HistGradientBoostingRegressor(max_iter=4)),
    "network of numbers": lambda: fitted_numbers(Network(n_hidden=5, solver=SHORT), X=frame),
}


KINDS = {"age": "number", "town": "category", "words": "text", "vector": "array", "face": "image"}


def saved_with_its_table(folder):
    """A run over a table with a column of every kind; the estimator, and the table."""
    own, y, wrong, trusted = rows()
    table = {
        "age": np.where(np.arange(200) % 9, own[:, 0], np.nan),
        "town": np.array(["Ulm", "Bonn"])[(own[:, 2] > 0).astype(int)],
        "words": [f"row number {i % 7}" for i in range(200)],
        "vector": own[:, :3],
        "face": np.random.default_rng(0).integers(0, 256, (200, 4, 4), dtype=np.uint8),
    }
    encoder = TableEncoder(KINDS).fit(table)
    X = encoder.transform(table)
    with quick_evidence():
        estimator = PGSClassifier("linear", random_state=0)
        estimator.fit(X, np.where(wrong & ~trusted, 1 - y, y), trusted=trusted)
    write_run(folder, estimator, facts_of_rows(estimator, X), Story("y", KINDS, encoder=encoder))
    return estimator, table


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes() if a.dtype != object else a.tolist() == b.tolist()
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    else:
        assert a == b


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
