"""Good and bad errors told apart, on made-up rows where it is known."""

import numpy as np
import pytest
from scipy.integrate import quad

from safegain.evidence.error_kinds import Factor, OneSided, Spread, Swapped
from safegain.evidence.errors import _good_share, fit_errors

N, SD = 3000, 3.0


def made(kind, n_trusted=300, wrong=0.2, seed=0):
    """Labels of which good ones are a quarter of a standard deviation off, with tails; (y, f, trusted, right, bad)"""
    random = np.random.default_rng(seed)
    predicted = 10 + SD * random.normal(size=N + n_trusted)
    right = predicted + 0.25 * SD * random.standard_t(6, N + n_trusted)
    trusted = np.arange(N + n_trusted) >= N
    bad = ~trusted & (random.random(N + n_trusted) < wrong)
    y, m = right.copy(), int(bad.sum())
    if kind == "normal":
        y[bad] += SD * random.normal(size=m)
    elif kind == "heavy":
        y[bad] += 0.5 * SD * random.standard_t(1.5, m)
    elif kind == "up":
        y[bad] += SD * random.exponential(1, m)
    elif kind == "down":
        y[bad] -= SD * random.exponential(1, m)
    elif kind == "units":
        y[bad] *= random.choice([10, 100, 1000, 0.1, -1], m)
    elif kind == "swapped":
        y[bad] = y[random.permutation(np.flatnonzero(bad))]
    return y, predicted, trusted, right, bad & (y != right)


def found(kind, **settings):
    y, predicted, trusted, right, bad = made(kind, **settings)
    errors = fit_errors(y, predicted, np.ones_like(y), trusted, np.random.RandomState(0))
    weak = ~trusted
    return errors, errors.labels(y[weak], predicted[weak], np.ones(N)), right[weak], bad[weak]


@pytest.mark.parametrize(
    ("kind", "kinds", "share"),
    [
        ("up", {OneSided}, 0.2),
        ("down", {OneSided}, 0.2),
        ("units", {Factor}, 0.2),
        ("none", set(), 0.0),
    ],
)
def test_the_kind_and_its_share_are_found(kind, kinds, share):
    errors, *_ = found(kind, seed=1)
    assert {type(each) for each in errors.kinds} == kinds
    assert 1 - errors.shares[0] == pytest.approx(share, abs=0.04)
    assert errors.scale == pytest.approx(0.25 * SD, rel=0.1)


def test_normal_errors_are_a_spread_or_go_both_ways():
    for seed in range(3):
        errors, *_ = found("normal", seed=seed)
        assert errors.kinds
        assert {type(each) for each in errors.kinds} <= {Spread, OneSided}
        assert 1 - errors.shares[0] == pytest.approx(0.2, abs=0.13)  # small ones look like good ones


def test_swapped_labels_are_seen_as_such():
    errors, *_ = found("swapped")
    shares = {type(kind): share for kind, share in zip(errors.kinds, errors.shares[1:], strict=True)}
    assert shares[Swapped] == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("kind", ["normal", "heavy", "up", "units", "swapped"])
def test_large_errors_are_called_bad_and_put_right(kind):
    errors, labels, right, bad = found(kind)
    called, large = errors.good(labels) < 0.5, np.abs(labels.y - right) > SD
    assert bad[called].mean() > 0.85
    assert called[bad & large].mean() > (0.6 if kind == "heavy" else 0.8)
    suggested = errors.suggested(labels)
    closer = np.abs(suggested - right) < np.abs(labels.y - right)
    assert closer[called & bad & large].mean() > 0.98
    low, high = errors.interval(labels, 0.9)
    inside = (low <= right + 1e-9) & (right <= high + 1e-9)
    if kind == "units":
        assert inside[called].mean() > 0.98
    else:
        assert 0.8 < inside[called & bad].mean() < 0.95


def test_wrong_units_are_found_with_few_trusted_rows():
    errors, labels, right, bad = found("units", n_trusted=20)
    called = errors.good(labels) < 0.5
    far = bad & (np.abs(labels.y - right) > SD)
    assert called[far].mean() > 0.98
    assert bad[called].mean() > 0.98


@pytest.mark.parametrize("n_trusted", [30, 300])
def test_of_good_labels_hardly_one_is_called_bad(n_trusted):
    for seed in range(5):
        errors, labels, *_ = found("none", n_trusted=n_trusted, seed=seed)
        assert (errors.good(labels) < 0.5).mean() < 0.01


def test_trusted_rows_that_look_bad_speak_for_those_that_do():
    """A tenth of all rows is far out, and trusted ones are as well: these are good errors with a tail."""
    random = np.random.default_rng(0)
    predicted = random.normal(size=3600)
    error = np.where(random.random(3600) < 0.1, 3.0, 0.2) * random.normal(size=3600)
    trusted = np.arange(3600) >= 3000
    errors = fit_errors(predicted + error, predicted, np.ones(3600), trusted, np.random.RandomState(0))
    labels = errors.labels(predicted + error, predicted, np.ones(3600))
    assert (errors.good(labels)[~trusted] < 0.5).mean() < 0.01
    # The same rows, with trusted ones that have no tail.
    error[trusted] = 0.2 * random.normal(size=600)
    errors = fit_errors(predicted + error, predicted, np.ones(3600), trusted, np.random.RandomState(0))
    labels = errors.labels(predicted + error, predicted, np.ones(3600))
    assert (errors.good(labels)[~trusted] < 0.5).mean() > 0.06


def test_rows_with_larger_good_errors_are_not_called_bad_for_that():
    random = np.random.default_rng(0)
    unit = np.where(np.arange(3300) % 5 == 0, 5.0, 0.5)
    y = unit * random.normal(size=3300)
    errors = fit_errors(y, np.zeros(3300), unit, np.arange(3300) >= 3000, np.random.RandomState(0))
    assert (errors.good(errors.labels(y, np.zeros(3300), unit)) < 0.5).mean() < 0.01


@pytest.mark.parametrize(("most", "k", "n"), [(0.1, 0, 30), (0.05, 2, 300), (0.3, 30, 30), (1e-4, 0, 5)])
def test_the_share_of_good_rows_is_the_mean_of_its_density(most, k, n):
    def density(r):
        return r**k * (1 - r) ** (n - k)

    wanted = quad(lambda r: r * density(r), 0, most)[0] / quad(density, 0, most)[0]
    assert _good_share(most, k, n) == pytest.approx(wanted, rel=1e-6)


def test_checked_labels_say_how_labels_go_wrong():
    """Of few weak rows nobody could tell; pairs of given and right labels can."""
    sizes = {True: [], False: []}
    for seed in range(4):
        y, predicted, _, right, bad = made("normal", n_trusted=0, seed=seed)
        rows = np.r_[np.arange(60), np.arange(100, 500), np.arange(100, 500)]  # weak, as given, and as checked
        known = np.r_[np.full(60, np.nan), (~bad[100:500]).astype(float), np.full(400, np.nan)]
        trusted = np.arange(len(rows)) >= 460
        given = np.where(trusted, right[rows], y[rows])
        for told in (True, False):
            kept = np.ones(len(rows), bool) if told else np.isnan(known)
            errors = fit_errors(
                given[kept],
                predicted[rows][kept],
                np.ones(kept.sum()),
                trusted[kept],
                np.random.RandomState(0),
                known[kept] if told else None,
            )
            sizes[told].append(abs(errors.shares[0] - 0.8))
    assert max(sizes[True]) < 0.04
    assert np.mean(sizes[True]) < 0.5 * np.mean(sizes[False])


def test_labels_of_zero_are_no_unit_mistakes():
    random = np.random.default_rng(0)
    predicted = np.abs(random.normal(20, 15, N))
    y = np.where(random.random(N) < 0.3, 0.0, predicted + random.normal(size=N))
    predicted = np.where(y == 0, 0.5 * random.normal(size=N), predicted)
    trusted = np.arange(N) >= N - 30
    errors = fit_errors(y, predicted, np.ones(N), trusted, np.random.RandomState(0))
    assert (errors.good(errors.labels(y, predicted, np.ones(N))) > 0.5).mean() > 0.995


def test_far_beyond_every_trusted_row_nothing_is_good():
    errors, labels, _, bad = found("heavy", n_trusted=30)
    good, off = errors.good(labels), np.abs(labels.residual) / labels.scale
    assert errors.reach > off[~bad].mean()
    far = off > 5 * errors.reach
    assert far.any()
    assert good[far].max() < 0.01
