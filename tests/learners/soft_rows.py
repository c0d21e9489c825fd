"""Small problems for learners on soft labels."""

import numpy as np

from safegain.learners.target import Target

CLASSES = np.array(["ant", "bee", "cow"])


def rows(n: int, seed: int = 0, d: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def codes(X: np.ndarray) -> np.ndarray:
    """Three classes by a rule of two columns."""
    return np.where(X[:, 0] > 0.3, 2, (X[:, 1] > 0).astype(int))


def sure(n: int, seed: int = 0) -> tuple[np.ndarray, Target]:
    X = rows(n, seed)
    return X, Target.of_codes(codes(X), CLASSES)


def soft(n: int, seed: int = 0, *, weighted: bool = False) -> tuple[np.ndarray, Target]:
    X, random = rows(n, seed), np.random.default_rng(seed + 1)
    Q = 0.7 * np.eye(3)[codes(X)] + 0.3 * random.dirichlet(np.ones(3), n)
    return X, Target(Q.astype(np.float32), CLASSES, random.random(n) if weighted else None)


def numbers(n: int, seed: int = 0, *, weighted: bool = False) -> tuple[np.ndarray, Target]:
    X, random = rows(n, seed), np.random.default_rng(seed + 1)
    y = 50 + 10 * np.sin(2 * X[:, 0]) + 5 * X[:, 1] + random.standard_normal(n)
    return X, Target(y, None, random.random(n) if weighted else None)
