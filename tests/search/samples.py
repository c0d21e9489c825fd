"""Noisy digits and made-up numbers, and problems of both for the searches."""

from dataclasses import replace

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.datasets import load_digits

from safegain import Linear, Network, PGSClassifier, Recipe
from safegain.data.labels import classification_labels, regression_labels
from safegain.data.parts import Masks, parted
from safegain.search.problem import Problem

FAST = Network(n_hidden=64, recipe=Recipe(n_steps=150))
HARD = {"n": 500, "k": 10}  # where every reference can be beaten


def digits(n=320, k=4, wrong=0.5, seed=0):
    """(X, noisy y, true y, trusted): half of the weak labels are wrong, three rows in ten are trusted."""
    X, y = (part[:n] for part in load_digits(n_class=k, return_X_y=True))
    rng, trusted = np.random.RandomState(seed), np.arange(len(y)) % 10 < 3
    noisy = np.where(~trusted & (rng.rand(len(y)) < wrong), (y + rng.randint(1, k, len(y))) % k, y)
    return X, noisy, y, trusted


def unseen(n=320, k=4):
    return tuple(part[n:] for part in load_digits(n_class=k, return_X_y=True))


def classifier(**settings):
    return PGSClassifier(**{"model": FAST, "random_state": 0} | settings)


def misled(find):
    """Evidence that takes every class for the next one."""

    def found(*arguments, **settings):
        evidence = find(*arguments, **settings)
        return replace(evidence, log_p=evidence.log_p.roll(1, 1), Q=evidence.Q.roll(1, 1))

    return found


def made(shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape)).to(dtype)


def made_up(n=300, n_trusted=60, *, wrong=0.4, size=8.0, missing=0.0, biased=0.0, seed=0, d=5):
    """Rows of a linear model with standard error 0.3; which weak labels have an error of `size`."""
    random = np.random.RandomState(seed)
    X, coefficient = random.randn(n + n_trusted + 2000, d), random.randn(d)
    true = X @ coefficient + 0.3 * random.randn(len(X)) + 1
    y, spoilt = true.copy(), np.arange(len(X)) < round(wrong * n)
    y[spoilt] += size * random.randn(spoilt.sum()) + biased
    y[:n][random.rand(n) < missing] = np.nan
    return X, y, spoilt[:n], (X[n + n_trusted :], true[n + n_trusted :])


def of_numbers(X, y, n, n_trusted, *, learner=None, reference="best", n_held=0, sparse=False, seed=0, **settings):
    """The problem of n weak rows, then trusted ones, of which the last `n_held` are held out. Labels are in their own
    units.
    """
    rows, end = np.arange(n + n_trusted), n + n_trusted
    X = scipy.sparse.csr_array(np.where(np.abs(X) > 0.2, X, 0)) if sparse else X
    masks = Masks(rows >= n, rows >= end - n_held, np.zeros(end, dtype=bool))
    parts = parted(X[:end], regression_labels(y[:end]).in_own_units(), masks)
    return Problem(parts, learner or Linear(), reference, None, np.random.RandomState(seed), **settings)


def of_classes(X, y, trusted, held, *, learner, reference="best", safeness=None, seed=0, groups=None, **settings):
    """The problem of these rows; `trusted` and `held` are masks."""
    masks = Masks(trusted, held, np.zeros_like(trusted))
    parts = parted(X, classification_labels(y), masks, groups=groups)
    return Problem(parts, learner, reference, safeness, np.random.RandomState(seed), **settings)


def at_best_temperature(p, y):
    """Log-losses of the rows of p^s, scaled to sum to one, at the s with the least mean."""

    def losses(log_s):
        return -log_softmax(np.exp(log_s) * np.log(p.astype(np.float64)), axis=1)[np.arange(len(y)), y]

    return losses(minimize_scalar(lambda log_s: losses(log_s).mean(), bounds=(-7, 7), method="bounded").x)


def fared(X, y, rows, models):
    """The frame that `comparison_` should be, from the predictions of these models."""
    parts = []
    for name, model in models.items():
        p = model.predict_proba(X[rows])
        mistake = p.argmax(axis=1) != y[rows]
        loss = at_best_temperature(p, y[rows])
        parts.append(pd.DataFrame({"row": rows, "model": name, "loss": loss, "mistake": mistake}))
    return pd.concat(parts, ignore_index=True)
