"""The pool of several heads against scipy and scikit-learn, and EM through the channel against its own likelihood."""

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

import safegain.evidence.pooling
import safegain.learners.calibration
from safegain.evidence.channel import Channel, most_likely_transition
from safegain.evidence.pooling import (
    FEW_ROWS,
    FEW_STEPS,
    MANY,
    NONE,
    SOME,
    Pool,
    Weak,
    fit_pool,
    fit_through_channel,
    heard_by_trusted,
)
from safegain.learners.calibration import smoothed
from tests.evidence.samples import pair_noise, strips


def drawn(P, rng):
    """A class number for each row of P."""
    return (P.cumsum(axis=1) > rng.random((len(P), 1))).argmax(axis=1)


def simulated(n, seed=0, k=3, sharp=2.0):
    """(log_ps, classes, P): two heads that know something, one that knows nothing; the first is twice too sure."""
    rng = np.random.default_rng(seed)
    z = sharp * rng.standard_normal((n, k))
    heads = 2 * (z + rng.standard_normal((n, k))), z + rng.standard_normal((n, k)), rng.standard_normal((n, k))
    P = np.exp(log_softmax(z, axis=1))
    return log_softmax(np.stack(heads), axis=2), drawn(P, rng), P


def minus_likelihood(log_ps, wanted, parameters):
    """As the docstring states it, in sums, not means."""
    h = len(log_ps)
    log_p = log_softmax(np.einsum("h,hnk->nk", parameters[:h], log_ps) + parameters[h:], axis=1)
    return -(wanted * log_p).sum() + parameters[h:] @ parameters[h:] / 2


@pytest.mark.parametrize("soft", [False, True], ids=["classes", "distributions"])
def test_a_pool_reaches_its_optimum(soft):
    log_ps, classes, P = simulated(80)
    wanted = P if soft else np.eye(3)[classes]
    found = fit_pool(log_ps, wanted)
    at = np.concatenate([found.weights, found.bias])

    def objective(v):
        return minus_likelihood(log_ps, wanted, v)

    bounds = [(0, None)] * 3 + [(None, None)] * 3
    oracle = minimize(objective, np.full(6, 0.1), method="SLSQP", bounds=bounds, options={"ftol": 1e-12})
    assert objective(at) == pytest.approx(oracle.fun, abs=1e-4)
    np.testing.assert_allclose(at, oracle.x, atol=0.01)
    slope = approx_fprime(at, objective, 1e-6) / 80
    assert (np.abs(slope[3:]) < 1e-3).all()
    assert ((np.abs(slope[:3]) < 1e-3) | ((found.weights == 0) & (slope[:3] > 0))).all()
    p = found(log_ps)
    np.testing.assert_allclose(np.exp(p).sum(axis=1), 1)
    np.testing.assert_allclose(p, log_softmax(np.tensordot(at[:3], log_ps, 1) + at[3:], axis=1))


def test_a_pool_of_two_classes_is_a_logistic_regression():
    """Log odds of the heads are its columns. Two opposite biases b, -b of prior 1 are an intercept 2b of variance 2."""
    log_ps, classes, _ = simulated(200, k=2)
    log_ps = log_ps[:2]  # both of use: neither meets the bound at 0, which scikit-learn does not have
    odds = (log_ps[..., 1] - log_ps[..., 0]).T
    big = 1e4  # an intercept is penalised as the weight of a column: this large, others are as good as free
    columns = np.column_stack([big * odds, np.full(200, 2**0.5)])
    own = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(columns, classes)
    found = fit_pool(log_ps, np.eye(2)[classes])
    np.testing.assert_allclose(found.weights, big * own.coef_[0, :2], atol=2e-3)
    assert found.bias[1] - found.bias[0] == pytest.approx(2**0.5 * own.coef_[0, 2], abs=2e-3)


def test_the_gradient_meets_finite_differences(monkeypatch):
    log_ps, _, P = simulated(30)
    seen = []

    def watched(objective, start, **settings):
        for at in (start, start + np.linspace(-0.3, 0.4, 6)):
            value, slope = objective(at)
            np.testing.assert_allclose(slope, approx_fprime(at, lambda v: objective(v)[0], 1e-7), atol=1e-5)
            assert value == pytest.approx(minus_likelihood(log_ps, P, at) / 30)
            seen.append(at)
        return minimize(objective, start, **settings)

    monkeypatch.setattr(safegain.learners.calibration, "minimize", watched)
    fit_pool(log_ps, P)
    fit_pool(log_ps, P, start=Pool(np.array([0.5, 1.0, 0.0]), np.array([0.1, 0.0, -0.2])))
    assert len(seen) == 4
    np.testing.assert_allclose(seen[2], [0.5, 1.0, 0.0, 0.1, 0.0, -0.2])


def test_a_head_that_misleads_is_left_out_and_not_turned_round():
    log_ps, classes, _ = simulated(300)
    against = log_softmax(-log_ps[1], axis=1)
    found = fit_pool(np.stack([log_ps[0], against]), np.eye(3)[classes])
    assert found.weights[1] == 0
    assert found.weights[0] > 0.1
    alone = fit_pool(log_ps[:1], np.eye(3)[classes])
    assert found.weights[0] == pytest.approx(alone.weights[0], abs=1e-3)


def joint(log_ps, hits, weak, pool, channel, known):
    """What `fit_through_channel` climbs: trusted rows, weak labels, and the priors of biases and matrix."""
    log_p, m, (T, local), near = pool(log_ps), len(hits), channel, weak.near.numpy()
    of_labels = (1 - local) * T.T[weak.y.numpy()] + local * near[:, None]
    labels = np.log((np.exp(log_p[m:]) * of_labels).sum(axis=1)).sum()
    return (hits * log_p[:m]).sum() + labels - pool.bias @ pool.bias / 2 + (known * np.log(T)).sum()


def weak_and_trusted(m, n, seed=0, pairs=None):
    """(log_ps, hits, weak, P): m trusted rows, then n with labels that went through the channel of pairs."""
    log_ps, classes, P = simulated(m + n, seed)
    T = pair_noise(3, 0.4)
    y = drawn(T[classes], np.random.default_rng(seed + 1))[m:]
    near = (P[m:] @ T)[np.arange(n), y]
    return log_ps, np.eye(3)[classes[:m]], Weak(torch.from_numpy(y), torch.from_numpy(near), pairs), P


START = torch.full((3, 3), 0.2) + 0.4 * torch.eye(3)


@pytest.mark.parametrize("local", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("pairs", [None, torch.full((3, 3), 2.0)], ids=["alone", "pairs"])
def test_em_climbs_the_joint_likelihood_to_its_top(monkeypatch, fixed, pairs, local):
    log_ps, hits, weak, _ = weak_and_trusted(20, 200, pairs=pairs)
    known = np.full((3, 3), 1 / 3) + (0 if pairs is None else pairs.numpy())
    first = Pool(np.array([0.0, 0.0, 1.0]), np.zeros(3))  # far off: all on the head that knows nothing

    def after(steps):
        pool, channel = fit_through_channel(
            log_ps, hits, weak, first, Channel(START, local), fixed=fixed, most_steps=steps
        )
        assert (pool.weights >= 0).all()
        np.testing.assert_allclose(channel.T.sum(dim=1), 1, atol=1e-5)
        assert torch.equal(channel.T, START) is fixed
        assert channel.local == local
        return joint(log_ps, hits, weak, pool, (channel.T.double().numpy(), local), known)

    monkeypatch.setattr(safegain.evidence.pooling, "SETTLED", 0.0)
    climbed = [joint(log_ps, hits, weak, first, (START.double().numpy(), local), known)]
    climbed += [after(steps) for steps in (1, 2, 4, 8, 300)]
    assert (np.diff(climbed) > -1e-3).all()
    assert climbed[-1] > climbed[0] + 1

    def minus(v):
        T = START.double().numpy() if fixed else np.exp(log_softmax(v[6:].reshape(3, 3), axis=1))
        return -joint(log_ps, hits, weak, Pool(v[:3], v[3:6]), (T, local), known)

    start = np.concatenate([first.weights, first.bias, START.double().log().numpy().ravel()])
    bounds = [(0, None)] * 3 + [(None, None)] * 12
    assert climbed[-1] == pytest.approx(-minimize(minus, start, method="L-BFGS-B", bounds=bounds).fun, abs=0.01)


def test_the_matrix_counts_what_it_explains_by_hand():
    """One step. A label that is frequent hereabouts says less of the matrix than one that is rare."""
    log_ps = np.log(np.array([[[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]]))
    weak = Weak(torch.tensor([1, 1]), torch.tensor([0.9, 0.1], dtype=torch.float64))
    first, T = Pool(np.ones(1), np.zeros(2)), torch.tensor([[0.6, 0.4], [0.2, 0.8]])
    _, channel = fit_through_channel(
        log_ps, np.array([[1.0, 0.0]]), weak, first, Channel(T, 0.5), fixed=False, most_steps=1
    )
    # Likelihoods of label 1: 0.2 + 0.45 and 0.4 + 0.45 in the first row, 0.2 + 0.05 and 0.4 + 0.05 in the second;
    # both classes were as likely, so a row's Q times the matrix's part is 0.2 and 0.4 over the sum of its likelihoods.
    of_first, of_second = 0.2 / 1.5 + 0.2 / 0.7, 0.4 / 1.5 + 0.4 / 0.7
    expected = [[0.5 / (1 + of_first), 1 - 0.5 / (1 + of_first)], [0.5 / (1 + of_second), 1 - 0.5 / (1 + of_second)]]
    np.testing.assert_allclose(channel.T, expected, rtol=1e-5)


def test_em_stops_where_it_settles(monkeypatch):
    log_ps, hits, weak, _ = weak_and_trusted(20, 200)
    calls = []
    monkeypatch.setattr(safegain.evidence.pooling, "fit_pool", lambda *a, **k: calls.append(1) or fit_pool(*a, **k))

    def steps(pool, channel):
        calls.clear()
        found = fit_through_channel(log_ps, hits, weak, pool, channel, fixed=False, most_steps=500)
        return len(calls), found

    n, found = steps(fit_pool(log_ps[:, :20], hits), Channel(START))
    assert 1 < n < 500
    assert steps(*found)[0] <= 2


def test_weak_labels_help_where_trusted_rows_are_few():
    """True log-loss of fresh rows; ten simulations with twelve trusted rows and a thousand weak ones."""
    fresh, _, P = simulated(3000, seed=99)

    def loss(pool):
        return -(P * pool(fresh)).sum() / 3000

    gains = []
    for seed in range(10):
        log_ps, hits, weak, _ = weak_and_trusted(12, 1000, seed)
        alone = fit_pool(log_ps[:, :12], hits)
        channel = Channel(torch.from_numpy(pair_noise(3, 0.4)).float())
        known, _ = fit_through_channel(log_ps, hits, weak, alone, channel, fixed=True)
        both, found = fit_through_channel(log_ps, hits, weak, alone, Channel(START), fixed=False)
        gains.append([loss(alone) - loss(known), loss(alone) - loss(both)])
        np.testing.assert_allclose(found.T, channel.T, atol=0.2)
    assert (np.mean(gains, axis=0) > 0.03).all()
    assert (np.array(gains) > 0).mean() > 0.8


@pytest.mark.parametrize("noise", [Channel(torch.full((3, 3), 1 / 3)), Channel(START, 1.0)], ids=["matrix", "local"])
def test_a_label_of_pure_noise_says_nothing(noise):
    log_ps, hits, weak, _ = weak_and_trusted(30, 100)
    first = fit_pool(log_ps[:, :30], hits)
    pool, channel = fit_through_channel(log_ps, hits, weak, first, noise, fixed=True)
    assert channel is noise
    np.testing.assert_allclose(pool.weights, first.weights, atol=0.01)


def asked(log_ps, hits, y):
    """What trusted rows are asked with, of these heads and the labels of the weak rows."""
    of_weak, hits = log_ps[:, len(hits) :], smoothed(hits)
    near = np.exp(fit_pool(of_weak, np.eye(3)[y])(of_weak))[np.arange(len(y)), y]
    p = torch.from_numpy(fit_pool(log_ps[:, : len(hits)], hits)(of_weak)).exp().float()
    weak = Weak(torch.from_numpy(y), torch.from_numpy(near))
    return log_ps, hits, weak, most_likely_transition(p, weak.y)


def asked_of_strips(in_a_place, n_trusted, n_weak, seed):
    """Two heads: labels of the nearest 5 and 30 weak rows, without the row's own."""
    X, labels, true = strips(n_trusted + n_weak, in_a_place=in_a_place, seed=seed)
    near_rows = NearestNeighbors(n_neighbors=31).fit(X[n_trusted:]).kneighbors(X)[1]
    own = (np.arange(len(X)) >= n_trusted).astype(int)
    votes = np.eye(3)[labels[n_trusted:][near_rows]]
    said = [[row[first : first + size].mean(axis=0) for row, first in zip(votes, own, strict=True)] for size in (5, 30)]
    return asked(np.log(np.array(said) + 0.03), np.eye(3)[true[:n_trusted]], labels[n_trusted:])


def shares(in_a_place, n_trusted, n_weak=600):
    """Of ten simulations."""
    found = [(asked_of_strips(in_a_place, n_trusted, n_weak, seed), np.random.RandomState(seed)) for seed in range(10)]
    return [heard_by_trusted(*said, random)[0] for said, random in found]


def test_flips_that_do_not_depend_on_the_place_have_no_large_local_share():
    assert shares(False, 100).count(MANY) <= 1


def test_flips_of_one_place_have_a_local_share():
    found = shares(True, 200)
    assert found.count(NONE) <= 1
    assert found.count(MANY) >= 5


def by_rules(n, seed):
    """(log_ps, classes, labels): rules have given labels that are the class of seven rows in ten, by columns in which
    the heads see nearly all of the rules and nothing else.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    classes = np.where(rng.random(n) < 0.7, labels, (labels + rng.integers(1, 3, n)) % 3)
    return log_softmax(3 * np.eye(3)[labels] + rng.standard_normal((2, n, 3)), axis=2), classes, labels


def fresh_losses(log_ps, classes, said, local):
    """Of pools of trusted rows alone, and of these and weak rows."""
    known, hits, weak, T = said
    alone = fit_pool(known[:, : len(hits)], hits)
    both, _ = fit_through_channel(known, hits, weak, alone, Channel(T, local), fixed=False)
    return [-pool(log_ps)[np.arange(len(classes)), classes].mean() for pool in (alone, both)]


def test_labels_that_rules_have_given_have_no_say():
    """Through the channel the heads seem to be sure; ten simulations."""
    found, gains, fresh = [], [], by_rules(2000, 99)
    for seed in range(10):
        log_ps, classes, labels = by_rules(700, seed)
        said = asked(log_ps, np.eye(3)[classes[:100]], labels[100:])
        local, hears = heard_by_trusted(*said, np.random.RandomState(seed))
        alone, both = fresh_losses(*fresh[:2], said, local)
        found.append(hears)
        gains.append(both - alone)
    assert found.count(False) >= 9
    assert min(gains) > 0.05


def test_labels_that_went_through_a_channel_have_a_say():
    found, gains, fresh = [], [], simulated(2000, 99)
    for seed in range(10):
        log_ps, hits, weak, _ = weak_and_trusted(60, 600, seed)
        said = asked(log_ps, hits, weak.y.numpy())
        local, hears = heard_by_trusted(*said, np.random.RandomState(seed))
        alone, both = fresh_losses(*fresh[:2], said, local)
        found.append(hears)
        gains.append(alone - both)
    assert found.count(True) >= 9
    assert np.mean(gains) > 0


@pytest.mark.parametrize(("alone", "hears"), [(2.1, False), (1.9, True), (-3.0, True)])
@pytest.mark.parametrize(
    ("none", "many", "share"),
    [(0.6, 3.0, NONE), (0.4, 3.0, MANY), (0.4, 2.1, MANY), (0.4, 1.9, SOME), (-3.0, -3.0, SOME)],
)
def test_the_rule_by_which_trusted_rows_hear(monkeypatch, none, many, share, alone, hears):
    """Made-up gains, in standard errors: of a share over the middle one, and without weak rows over the share that is
    taken. No row judges a pool that it was fitted to.
    """
    m, n = 20, FEW_ROWS + 5
    sign, number = np.tile([-1.0, 1.0], (m + n + 1) // 2)[: m + n], np.arange(m + n)
    log_ps = np.stack([sign, number], axis=1)[None]
    weak = Weak(torch.zeros(n, dtype=torch.int64), torch.ones(n, dtype=torch.float64))
    means, judged = {NONE: none / m**0.5, MANY: many / m**0.5}, []

    def gains(local, sign):
        if local is None:
            return gains(share, sign) + alone / m**0.5 + sign
        return means[local] + sign if local in means else 0 * sign

    def made_up_pool(fitted, local):
        def loss_of(log_ps):
            sign, number = log_ps[0].T
            assert not np.isin(number, fitted).any()
            judged.append(number)
            gain = gains(local, sign)
            return np.stack([gain - 5, np.full_like(gain, np.nan)], axis=1)

        return loss_of

    def of_trusted(log_ps, hits):
        assert log_ps.shape[1] == len(hits) == m // 2
        return made_up_pool(log_ps[0, :, 1], None)

    def of_both(log_ps, hits, weak, pool, channel, *, fixed, most_steps):
        assert (log_ps[0, len(hits) :, 1] == np.arange(m, m + FEW_ROWS)).all()
        assert (len(hits), len(weak.y), len(weak.near), fixed, most_steps) == (
            m // 2,
            FEW_ROWS,
            FEW_ROWS,
            False,
            FEW_STEPS,
        )
        return made_up_pool(log_ps[0, : len(hits), 1], channel.local), channel

    monkeypatch.setattr(safegain.evidence.pooling, "fit_pool", of_trusted)
    monkeypatch.setattr(safegain.evidence.pooling, "fit_through_channel", of_both)
    found = heard_by_trusted(log_ps, np.tile([1.0, 0.0], (m, 1)), weak, torch.eye(2), np.random.RandomState(0))
    assert found == (share, hears)
    for halves in zip(judged[::2], judged[1::2], strict=True):
        assert (np.sort(np.concatenate(halves)) == np.arange(m)).all()


def test_a_local_share_and_a_contradiction_need_trusted_rows_and_weak_ones():
    log_ps, classes, labels = by_rules(800, 0)
    _, hits, weak, T = asked(log_ps, np.eye(3)[classes[:200]], labels[200:])

    def found(m, n):
        rows, random = np.concatenate([np.arange(m), 200 + np.arange(n)]), np.random.RandomState(0)
        return heard_by_trusted(log_ps[:, rows], hits[:m], weak[np.arange(n)], T, random)

    assert found(200, 600) == (MANY, False)
    assert found(3, 600) == found(200, 0) == (NONE, True)
