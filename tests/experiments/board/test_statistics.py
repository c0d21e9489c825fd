"""Statistics by hand and against scipy."""

import numpy as np
import pytest
from experiments.board.statistics import (
    against_one,
    all_pairs,
    cliques,
    holm,
    mean_ranks,
    recovered_gaps,
    time_multiple,
    unsafe_runs,
    wilcoxon_p,
    wins,
)
from scipy.stats import false_discovery_control, wilcoxon

NAN = float("nan")


def test_ranks_by_hand():
    # Cell 1: ranks (1, 2, 3) and a tie (1.5, 1.5, 3); cell 2: (3, 1, 2), and a seed that has not been run.
    scores = np.array([[[9, 8], [1, NAN]], [[8, 8], [3, NAN]], [[7, 6], [2, NAN]]], dtype=float)
    assert mean_ranks(scores) == pytest.approx([(1.25 + 3) / 2, (1.75 + 1) / 2, (3 + 2) / 2])
    assert wins(scores).tolist() == [1, 1, 0]


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    p = np.array([0.001, 0.2, 0.02, 0.04])
    assert (holm(p) >= false_discovery_control(p, method="bh")).all()  # never bolder than the weaker guarantee


def test_signed_ranks_are_scipys_and_equal_values_do_not_differ():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 12))
    assert wilcoxon_p(a, b) == pytest.approx(wilcoxon(a, b).pvalue)
    assert wilcoxon_p(a, a + 1e-13) == 1.0
    # Six differences of one sign: of 64 equally likely signs two are as extreme.
    assert wilcoxon_p(np.arange(1.0, 7), np.zeros(6)) == pytest.approx(2 / 64)


def test_corrections_count_the_tests_that_are_made():
    means = np.stack([np.arange(8.0) + 3 * np.arange(1, 9), np.arange(8.0), np.arange(8.0) - np.arange(1, 9)])
    smallest = 2 / 2**8
    assert against_one(means, 0) == pytest.approx([NAN, 2 * smallest, 2 * smallest], nan_ok=True)
    p = all_pairs(means)
    assert p[0, 1] == p[1, 0] == pytest.approx(3 * smallest)
    assert p.diagonal().tolist() == [1, 1, 1]


def test_cliques_by_hand():
    p = np.ones((4, 4))
    for i, j in ((0, 2), (0, 3), (1, 3)):
        p[i, j] = p[j, i] = 0.01
    assert cliques(p, [0, 1, 2, 3]) == [(0, 1), (1, 2), (2, 3)]
    assert cliques(np.ones((3, 3)), [2, 0, 1]) == [(0, 2)]  # and no stretch within it
    assert cliques(np.zeros((3, 3)), [0, 1, 2]) == []


def test_recovered_gaps_are_quotients_of_sums():
    floor, bound = np.full((3, 2), 80.0), np.array([[90.0, 90.0], [81.0, 81.0], [80.0, 79.0]])
    scores = np.array([[85.0, NAN], [82.0, 80.0], [90.0, 90.0]])
    found = recovered_gaps(
        scores, np.where(np.isnan(scores), NAN, floor), np.where(np.isnan(scores), NAN, bound), "aab"
    )
    assert found["a"] == pytest.approx((5 + 2 + 0) / (10 + 1 + 1))
    assert np.isnan(found["b"])


def test_unsafe_runs_and_time_by_hand():
    scores, reference = np.array([[90.0, 88.9, NAN]]), np.array([[91.0, 90.0, 95.0]])
    assert unsafe_runs(scores, reference) == (1, 2)  # exactly one point below is not more than one
    assert time_multiple(np.array([[2.0, 30.0, NAN]]), np.array([[1.0, 10.0, 5.0]])) == 2.5
