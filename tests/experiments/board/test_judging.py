"""Judging by hand and against scipy."""

import numpy as np
import pytest
from experiments.board.judging import (
    best_by_hindsight,
    difference,
    holm,
    mean_ranks,
    of_each_cell,
    picked_by_cross_validation,
    recovered,
    set_means,
    unsafe_runs,
    wilcoxon_p,
    wins_and_losses,
)
from scipy.stats import false_discovery_control, ttest_rel, wilcoxon

NAN = float("nan")


def test_hindsight_takes_the_best_mean_of_the_seeds_that_pick():
    picking = np.array([[[90.0, 80.0], [70.0, 70.0], [1.0, NAN]], [[84.0, 85.0], [70.0, 71.0], [2.0, 2.0]]])
    chosen = best_by_hindsight(picking)
    assert chosen.tolist() == [0, 1, -1]  # 85 beats 84.5; nothing is picked while a run is missing
    judging = np.array([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    assert of_each_cell(judging, chosen)[:2, 0].tolist() == [1, 5]
    assert np.isnan(of_each_cell(judging, chosen)[2, 0])


def test_the_difference_and_its_bound_by_hand():
    # Differences -1, -2, -1, -2, -1.5: mean -1.5, s = .5, t(.95; 4) = 2.1318.
    ours, theirs = np.array([89.0, 88.0, 89.0, 88.0, 88.5]), np.full(5, 90.0)
    found = difference(ours, theirs)
    assert found.mean == pytest.approx(-1.5)
    assert found.upper == pytest.approx(-1.5 + 2.13185 * 0.5 / np.sqrt(5), abs=1e-4)
    assert found.behind
    # The same as scipy's interval: the bound is where a one-sided paired test has p = 5%.
    interval = ttest_rel(ours, theirs, alternative="less").confidence_interval(0.95)
    assert found.upper == pytest.approx(interval.high)


def test_behind_needs_more_than_half_a_point_and_certainty():
    theirs = np.full(5, 90.0)
    assert not difference(theirs - 0.5, theirs).behind  # half a point, for certain: not more
    assert difference(theirs - 0.51, theirs).behind
    assert not difference(np.array([80.0, 90, 90, 90, 90]), theirs).behind  # two points behind, but by one seed
    assert not difference(np.array([80.0, NAN]), np.array([90.0, 90.0])).behind  # one seed is no certainty


def test_recovered_gaps_where_there_is_a_gap():
    floor, bound = (
        np.array([[80.0, 82.0], [80.0, 80.0], [80.0, 80.0]]),
        np.array([[91.0, 91.0], [82.0, 82.0], [81.9] * 2]),
    )
    ours = np.array([[86.0, 86.0], [79.0, 79.0], [90.0, 90.0]])
    assert recovered(ours, floor, bound) == pytest.approx([0.5, -0.5, NAN], nan_ok=True)


def test_sets_count_alike_however_many_cells_they_have():
    scores = np.array([[[90.0, 92.0], [80.0, NAN], [70.0, 70.0]]])
    assert set_means(scores, ["a", "a", "b"]).tolist() == [[85.5, 70.0]]
    # Ranks 1, 2, 2 of the first method: 1.5 in set a, 2 in set b.
    two = np.array([[[9.0], [1.0], [1.0]], [[8.0], [2.0], [2.0]]])
    assert mean_ranks(two, ["a", "a", "b"]) == pytest.approx([1.75, 1.25])
    assert mean_ranks(np.full((2, 1, 1), 5.0), ["a"]).tolist() == [1.5, 1.5]


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
    assert wins_and_losses(np.array([1.0, 2.0, 3.0, 1.0]), np.array([0.0, 2.0 + 1e-13, 4.0, 0.5])) == (2, 1)


def test_cross_validation_picks_by_its_own_accuracy_and_is_scored_by_the_test_rows():
    cv = np.array([[[80.0, 70.0, 80.0]], [[80.0, 75.0, NAN]]])
    scores = np.array([[[60.0, 61.0, 62.0]], [[50.0, 51.0, 52.0]]])
    assert picked_by_cross_validation(scores, cv)[0] == pytest.approx([60, 51, NAN], nan_ok=True)


def test_unsafe_runs_by_hand():
    scores, reference = np.array([[90.0, 88.9, NAN]]), np.array([[91.0, 90.0, 95.0]])
    assert unsafe_runs(scores, reference) == (1, 2)  # exactly one point below is not more than one
