"""Rows with noisy classes, for the tests of evidence."""

import numpy as np
import torch
from sklearn.datasets import make_blobs

from safegain.data.labels import ClassLabels


def made(shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.RandomState(seed).randn(*shape)).to(dtype)


def uniform_noise(k, wrong):
    return (1 - wrong) * np.eye(k) + wrong * (1 - np.eye(k)) / (k - 1)


def pair_noise(k, wrong):
    return (1 - wrong) * np.eye(k) + wrong * np.roll(np.eye(k), 1, axis=1)


def noisy_blobs(n=500, n_trusted=60, wrong=0.4, seed=0):
    """(X, known, true classes, targets, calibrating): three blobs; the last rows are trusted.

    Half of these are targets, the other half calibrate.
    """
    X, true = make_blobs(n + n_trusted, centers=[[0, 0], [4, 0], [0, 4]], random_state=seed)
    rng, trusted = np.random.RandomState(seed), np.arange(n + n_trusted) >= n
    given = np.where(trusted | (rng.rand(len(true)) >= wrong), true, (true + rng.randint(1, 3, len(true))) % 3)
    given[:50] = -1
    known = ClassLabels(torch.from_numpy(given), torch.from_numpy(trusted), 3)
    calibrating = torch.arange(len(true)) >= n + n_trusted // 2
    return X, known, true, known.labelled & ~calibrating, calibrating


PLACE = 0.4  # below which labels go wrong, in the second column of `strips`


def strips(n, *, in_a_place, seed=0):
    """(X, labels, true classes): three strips side by side. In a place that touches all of them 45% of the labels are
    those of the next strip, and none elsewhere; or everywhere 40% are those of any other strip.
    """
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 2)) * [3, 1]
    true, chance = np.floor(X[:, 0]).astype(int), rng.rand(n)
    wrong = (chance < 0.45) & (X[:, 1] < PLACE) if in_a_place else chance < 0.4
    return X, np.where(wrong, (true + (1 if in_a_place else rng.randint(1, 3, n))) % 3, true), true
