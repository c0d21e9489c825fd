"""The board's problems: weak rows, trusted rows that were labelled like them before they were put right, test rows.

Every seed draws rows, noise and test rows anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from safegain.datasets import (
    WeakProblem,
    instance_flips,
    load_cifar10,
    load_cifar10_features,
    load_mnist,
    load_table,
    load_text,
    majority,
    pair_flips,
    text_features,
    uniform_flips,
)

MOST_WEAK = 3000  # so that the whole board can be run in a night
LEAST_TEST, MOST_TEST = 1500, 3000
SMALL = 3000  # a set with fewer rows tests on SMALL_SHARE of them instead
SMALL_SHARE = 0.4
QUICK = (300, 200)  # weak and test rows of a rehearsal
HUMAN = "worse"  # of the labels of CIFAR-10N: of three people's labels a wrong one, where there is one


@dataclass(frozen=True)
class CheckedProblem(WeakProblem):
    """`given` are the labels as they came, for the trusted rows too; -1 where there was none."""

    given: np.ndarray


@dataclass(frozen=True)
class Draw:
    """Row numbers; weak rows come before trusted ones in every array of a problem."""

    weak: np.ndarray
    trusted: np.ndarray
    test: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        return np.concatenate([self.weak, self.trusted])


def sizes(n: int, n_trusted: int, n_weak: int | None = None) -> tuple[int, int]:
    """How many weak rows and how many test rows: at most MOST_WEAK, unless said, and what is left over up to MOST_TEST.

    At least LEAST_TEST rows test, in a small set SMALL_SHARE of them.
    """
    least = LEAST_TEST if n >= SMALL else round(SMALL_SHARE * n)
    weak = min(n_weak or MOST_WEAK, n - n_trusted - least)
    return weak, min(MOST_TEST, n - n_trusted - weak)


def draw(n: int, setting: Mapping[str, Any], random: np.random.Generator, quick: bool) -> Draw:
    n_trusted = setting["n_trusted"]
    weak, test = QUICK if quick else sizes(n, n_trusted, setting.get("n_weak"))
    rows = random.permutation(n)
    return Draw(*np.split(rows[: weak + n_trusted + test], [weak, weak + n_trusted]))


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> CheckedProblem:
    """`setting` names the set, the noise (with its rate, where it is made) and the number of trusted rows."""
    random = np.random.default_rng((seed, 2))
    if setting["noise"] == "rules":
        return _texts(setting, seed, random, quick)
    if setting["noise"] == "human":
        return _photographs(setting, random, quick)
    X, y = rows_of(setting["set"])
    drawn = draw(len(y), setting, random, quick)
    rows = drawn.rows
    given = _spoilt(X[rows], y[rows], np.arange(y.max() + 1), setting, random)
    return _assemble(X[rows], given, y[rows], drawn, X[drawn.test], y[drawn.test])


def _spoilt(
    X: np.ndarray, y: np.ndarray, classes: np.ndarray, setting: Mapping[str, Any], random: np.random.Generator
) -> np.ndarray:
    noise, rate = setting["noise"], setting["rate"]
    if noise == "instance":
        scale = X.std(axis=0)  # so that likeness is not that of the column with the largest numbers
        return instance_flips(X / np.where(scale > 0, scale, 1), y, rate, classes=classes, random_state=random)
    flips = {"uniform": uniform_flips, "pair": pair_flips}[noise]
    return flips(y, rate, classes=classes, random_state=random)


def _texts(setting: Mapping[str, Any], seed: int, random: np.random.Generator, quick: bool) -> CheckedProblem:
    """Weak rows on which the rules have no majority are left out, after texts have become numbers with their help."""
    texts = loaded_texts(setting["set"])
    vote = majority(texts.weak_labels, len(texts.class_names))
    drawn = draw(len(vote), setting, random, quick)
    covered = Draw(drawn.weak[vote[drawn.weak] >= 0], drawn.trusted, drawn.test)
    features = text_features(texts.text[drawn.weak], texts.text, random_state=seed)
    rows = covered.rows
    made = _assemble(
        features[rows], vote[rows], texts.target[rows], covered, features[drawn.test], texts.target[drawn.test]
    )
    return _with_every_class_among_weak_rows(made)


def _with_every_class_among_weak_rows(problem: CheckedProblem) -> CheckedProblem:
    """A trusted row of each class that no weak row has becomes a weak row with its right label.

    Rules may know nothing of a class, and a network refuses a class of which it has trusted rows only.
    """
    trusted, given = problem.trusted.copy(), problem.given.copy()
    unknown = np.setdiff1d(problem.y[trusted], problem.y[~trusted])
    for code in unknown:
        row = np.flatnonzero(trusted & (problem.y == code))[0]
        trusted[row], given[row] = False, code
    return replace(problem, trusted=trusted, given=given)


def _photographs(setting: Mapping[str, Any], random: np.random.Generator, quick: bool) -> CheckedProblem:
    """People labelled the training images of CIFAR-10; its test images test."""
    images = loaded_images()
    X = _coarse() if quick else load_cifar10_features()
    weak, test = QUICK if quick else (MOST_WEAK, MOST_TEST)
    rows = random.permutation(images.n_train)[: weak + setting["n_trusted"]]
    others = random.permutation(np.arange(images.n_train, len(X)))[:test]
    drawn = Draw(rows[:weak], rows[weak:], others)
    given, y = images.human[HUMAN], images.target
    return _assemble(X[rows], given[rows], y[rows], drawn, X[others], y[others])


def _assemble(
    X: np.ndarray, given: np.ndarray, true: np.ndarray, drawn: Draw, X_test: np.ndarray, y_test: np.ndarray
) -> CheckedProblem:
    trusted = np.arange(len(X)) >= len(drawn.weak)
    return CheckedProblem(
        X=X,
        y=np.where(trusted, true, given),
        true=true,
        trusted=trusted,
        X_test=X_test,
        y_test=y_test,
        given=given.astype(np.int64),
    )


@cache
def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        return load_digits(return_X_y=True)
    table = load_mnist() if name == "mnist" else load_table(name)
    return table.data, table.target


loaded_texts = cache(load_text)
loaded_images = cache(load_cifar10)


def _coarse() -> np.ndarray:
    """For a rehearsal: coarse pixels, which need no learning."""
    coarse = loaded_images().data[:, ::4, ::4].astype(np.float32) / 255
    return coarse.reshape(len(coarse), -1)
