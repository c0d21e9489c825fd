"""Noise that is made: its size, and that it can be repeated."""

import random

import numpy as np
import pytest
import torch

from safegain import datasets
from safegain.datasets import noise
from tests.datasets.draws import Y, within
from tests.problems import numpy_state


def test_uniform_flips_reach_every_other_class_equally():
    noisy = noise.uniform_flips(Y, 0.45, random_state=1)
    assert within((noisy != Y).mean(), 0.45, len(Y))
    shifts = np.bincount((noisy - Y) % 10, minlength=10) / len(Y)
    assert all(within(share, 0.05, len(Y)) for share in shifts[1:])


def test_flips_reach_classes_that_do_not_occur():
    noisy = noise.uniform_flips(np.zeros(1000, int), 0.5, classes=[0, 1, 2], random_state=0)
    assert set(noisy) == {0, 1, 2}


def test_pair_flips_go_to_the_next_class_in_the_order_given():
    names = np.array(["b", "a", "c"])
    y = names[np.arange(3000) % 3]
    noisy = noise.pair_flips(y, 0.3, classes=names, random_state=0)
    following = {"b": "a", "a": "c", "c": "b"}
    changed = noisy != y
    assert within(changed.mean(), 0.3, len(y))
    assert (noisy[changed] == [following[label] for label in y[changed]]).all()


def test_transition_flips_follow_the_matrix():
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.1, 0.4, 0.5]])
    y = np.repeat([4, 5, 9], 10_000)
    noisy = noise.transition_flips(y, matrix, random_state=3)
    for i, true in enumerate((4, 5, 9)):
        for j, given in enumerate((4, 5, 9)):
            assert within((noisy[y == true] == given).mean(), matrix[i, j], 10_000)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.45, 1.0])
def test_instance_flips_have_the_mean_rate_and_depend_on_the_row(rate):
    X = np.random.default_rng(0).normal(size=(len(Y), 5))
    noisy = noise.instance_flips(X, Y, rate, random_state=0)
    assert within((noisy != Y).mean(), rate, len(Y))
    twins = noise.instance_flips(np.concatenate([X, X]), np.concatenate([Y, Y]), 1.0, random_state=0)
    assert (twins[: len(Y)] == twins[len(Y) :]).all()  # the wrong class is the row's own, not a draw


def test_instance_flips_differ_within_a_class():
    X = np.random.default_rng(0).normal(size=(len(Y), 5))
    noisy = noise.instance_flips(X, Y, 1.0, random_state=0)
    assert all(len(np.unique(noisy[code::10])) > 4 for code in range(10))  # of nine wrong classes


def test_instance_flips_of_two_classes_have_rates_that_depend_on_the_row():
    x = np.random.default_rng(1).normal(size=(40_000, 1))
    y = np.arange(40_000) % 2
    flipped = noise.instance_flips(x, y, 0.3, random_state=0) != y
    assert within(flipped.mean(), 0.3, len(y))
    for code in (0, 1):  # of one column the direction is its sign: rates go from .1 to .5, or from .5 to .1
        here = np.flatnonzero(y == code)
        parts = np.array_split(here[np.argsort(x[here, 0])], 5)
        rates = np.array([flipped[part].mean() for part in parts])
        expected = np.array([0.14, 0.22, 0.30, 0.38, 0.46])
        assert np.abs(rates - expected).max() < 0.03 or np.abs(rates - expected[::-1]).max() < 0.03


@pytest.mark.parametrize(
    ("maker", "mean_size"),
    [
        (lambda y: noise.gaussian_noise(y, 2.0, random_state=0), 2 * np.sqrt(2 / np.pi)),
        (lambda y: noise.laplace_noise(y, 2.0, random_state=0), 2.0),
        (lambda y: noise.heavy_tailed_noise(y, 2.0, df=50.0, random_state=0), 2 * 0.81),
        (lambda y: noise.gross_outliers(y, reach=4.0, fraction=0.5, random_state=0), 2.5),
    ],
)
def test_numeric_noise_has_its_size_on_its_fraction(maker, mean_size):
    y = np.linspace(0, 1, 20_000)
    change = maker(y) - y
    disturbed = change != 0
    assert disturbed.sum() == 10_000
    assert np.abs(change[disturbed]).mean() == pytest.approx(mean_size, rel=0.05)
    assert within((change[disturbed] > 0).mean(), 0.5, 10_000)


def test_heavy_tails_are_heavy():
    y = np.zeros(20_000)
    heavy = np.abs(noise.heavy_tailed_noise(y, 1.0, fraction=1.0, random_state=0))
    light = np.abs(noise.gaussian_noise(y, 1.0, fraction=1.0, random_state=0))
    assert light.max() < 10
    assert heavy.max() > 100
    assert np.median(heavy) < 1.5


def test_gross_outliers_leave_the_range():
    y = np.linspace(-1, 1, 1000)
    noisy = noise.gross_outliers(y, fraction=0.2, random_state=0)
    assert (np.abs(noisy - y)[noisy != y] >= 2).all()
    assert (noisy != y).sum() == 200


def test_one_sided_noise_goes_up():
    y = np.linspace(0, 1, 20_000)
    change = noise.one_sided_noise(y, 2.0, random_state=0) - y
    assert (change >= 0).all()
    assert (change > 0).sum() == 10_000
    assert change[change > 0].mean() == pytest.approx(2.0, rel=0.05)
    assert change[change > 0].std() == pytest.approx(2.0, rel=0.05)


def test_unit_mistakes_are_factors():
    y = np.linspace(1, 2, 5000)
    noisy = noise.unit_mistakes(y, factors=(10, -1), fraction=0.4, random_state=0)
    times, counts = np.unique((noisy / y).round(6), return_counts=True)
    assert times.tolist() == [-1, 1, 10]
    assert counts[1] == 3000
    assert within(counts[2] / 2000, 0.5, 2000)


def test_swapped_labels_are_those_of_others():
    y = np.arange(1000.0)
    noisy = noise.swapped_labels(y, fraction=0.3, random_state=0)
    assert (noisy != y).sum() == 300
    assert np.array_equal(np.sort(noisy), y)


def test_hidden_labels():
    whole = noise.hide_labels(Y.astype(np.uint8), random_state=0)
    assert (whole == -1).sum() == 12_000
    assert (whole[whole != -1] == Y[whole != -1]).all()
    real = noise.hide_labels(np.linspace(0, 1, 50), 0.3, random_state=0)
    assert np.isnan(real).sum() == 35
    with pytest.raises(ValueError, match=r"^y: "):
        noise.hide_labels(np.array(["a", "b"]))


def test_labels_that_are_minus_one_cannot_be_hidden():
    with pytest.raises(ValueError, match="-1 is a class here"):
        noise.hide_labels(np.array([-1, 1] * 5), random_state=0)


MAKERS = {
    "uniform": lambda y, s: noise.uniform_flips(y, 0.4, random_state=s),
    "pair": lambda y, s: noise.pair_flips(y, 0.4, random_state=s),
    "instance": lambda y, s: noise.instance_flips(np.outer(y, [1.0, 2.0]), y, 0.4, random_state=s),
    "gaussian": lambda y, s: noise.gaussian_noise(y, 0.4, random_state=s),
    "laplace": lambda y, s: noise.laplace_noise(y, 0.4, random_state=s),
    "heavy": lambda y, s: noise.heavy_tailed_noise(y, 0.4, random_state=s),
    "one-sided": lambda y, s: noise.one_sided_noise(y, 0.4, random_state=s),
    "units": lambda y, s: noise.unit_mistakes(y, random_state=s),
    "swapped": lambda y, s: noise.swapped_labels(y, random_state=s),
    "gross": lambda y, s: noise.gross_outliers(y, random_state=s),
    "hide": lambda y, s: noise.hide_labels(y, random_state=s),
    "split": lambda y, s: datasets.split_rows(len(y), sizes=(7, 1, 1, 1), random_state=s).train,
    "biased": lambda y, s: datasets.biased_split(y, sizes=(70, 10, 10, 10), random_state=s).trusted,
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_makers_are_repeatable_and_touch_nothing_else(maker):
    y = Y[:1000].copy()
    y.setflags(write=False)
    before = numpy_state(), random.getstate(), torch.get_rng_state()
    one, same, other = maker(y, 5), maker(y, 5), maker(y, 6)
    after = numpy_state(), random.getstate(), torch.get_rng_state()
    assert before[:2] == after[:2]
    assert torch.equal(before[2], after[2])
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.shares_memory(one, y)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: noise.uniform_flips(Y, 1.2), "rate"),
        (lambda: noise.pair_flips([1, 1], 0.5), "classes"),
        (lambda: noise.pair_flips([1, 7], 0.5, classes=[1, 2]), "y"),
        (lambda: noise.transition_flips([0, 1], np.eye(3)), "matrix"),
        (lambda: noise.transition_flips([0, 1], [[0.5, 0.6], [0, 1]]), "matrix"),
        (lambda: noise.transition_flips([0, 1], [[1.5, -0.5], [0, 1]]), "matrix"),
        (lambda: noise.instance_flips(np.zeros((3, 1)), [0, 1], 0.5), "X"),
        (lambda: noise.gaussian_noise([0.0], -1.0), "sigma"),
        (lambda: noise.laplace_noise([0.0], np.nan), "scale"),
        (lambda: noise.heavy_tailed_noise([0.0], 1.0, df=0.0), "df"),
        (lambda: noise.gaussian_noise([0.0], 1.0, fraction=2.0), "fraction"),
        (lambda: noise.one_sided_noise([0.0], 0.0), "scale"),
        (lambda: noise.unit_mistakes([0.0], fraction=2.0), "fraction"),
        (lambda: noise.swapped_labels([0.0], fraction=-1.0), "fraction"),
        (lambda: noise.gross_outliers([0.0], reach=0.5), "reach"),
        (lambda: noise.hide_labels([0], 2.0), "labelled"),
        (lambda: datasets.split_rows(5, sizes=(3, 1, 1, 1)), "sizes"),
        (lambda: datasets.split_ratio(5, ratio=(1, 2)), "ratio"),
        (lambda: datasets.biased_split(Y, odds=(0, 0)), "odds"),
        (lambda: datasets.patch_features(np.zeros((2, 8, 8, 3))), "images"),
        (lambda: datasets.patch_features(np.zeros((2, 8, 8, 3), np.uint8), n_components=3), "n_components"),
        (lambda: datasets.load_regression("boston"), "name"),
        (lambda: datasets.load_table("iris"), "name"),
    ],
)
def test_errors_name_the_argument(call, argument):
    with pytest.raises(ValueError, match=f"^{argument}: "):
        call()
