"""Small problems for the compared methods, and recipes that train in no time."""

import numpy as np
import torch
from sklearn.datasets import load_diabetes, load_digits

from safegain.bilevel.models import TwoLayer
from safegain.learners.recipe import DropoutNetwork, Material, Recipe

SHORT = {"n_hidden": 16, "recipe": Recipe(n_steps=40, learning_rate=2e-2, n_looks=3), "random_state": 0}
SHORTEST = {"n_hidden": 16, "recipe": Recipe(n_steps=30, learning_rate=2e-2, n_looks=3), "random_state": 0}


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def material(n=60, d=5, k=3, *, unlabelled=0, held=20, seed=0):
    g = generator(seed)
    X, X_held = torch.randn(n, d, generator=g).double(), torch.randn(held, d, generator=g).double()
    y, y_held = X[:, :k].argmax(dim=1), X_held[:, :k].argmax(dim=1)
    y[:unlabelled] = -1
    return Material(X, y, torch.arange(n) >= 2 * n // 3, X_held, y_held, k)


def network(of, seed=1, dropout=0.5):
    model = TwoLayer(of.X.shape[1], 7, of.n_classes, dtype=of.X.dtype, gain=1.0)
    return DropoutNetwork(model, dropout, generator(seed))


def noisy_digits(n=600):
    X, y = load_digits(return_X_y=True)
    random = np.random.RandomState(0)
    noisy = np.where(random.rand(n) < 0.4, (y[:n] + random.randint(1, 10, n)) % 10, y[:n])
    trusted = np.arange(n) % 4 == 0
    return X[:n], np.where(trusted, y[:n], noisy), trusted, X[n:], y[n:]


def diabetes(share_wrong=0.3):
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.default_rng(0)
    trusted = np.arange(len(y)) % 3 == 0
    wrong = ~trusted & (rng.random(len(y)) < share_wrong)
    return X, np.where(wrong, 350 - y, y), trusted


def digits(n=500, seed=0):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n], y[:n]
    rng = np.random.default_rng(seed)
    trusted = np.arange(n) % 4 == 0
    return X, np.where(~trusted & (rng.random(n) < 0.4), (y + 1) % 10, y), y, trusted
