"""The pool of several heads against scipy and scikit-learn, and EM through the channel against its own likelihood."""

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

import safegain.evidence.pooling
from safegain.evidence.pooling import Pool, fit_pool, fit_through_channel
from tests.evidence.samples import pair_noise


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

    monkeypatch.setattr(safegain.evidence.pooling, "minimize", watched)
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


def joint(log_ps, hits, y, pool, T, known):
    """What `fit_through_channel` climbs: trusted rows, weak labels, and the priors of biases and channel."""
    log_p, m = pool(log_ps), len(hits)
    weak = np.log((np.exp(log_p[m:]) * T.T[y]).sum(axis=1)).sum()
    return (hits * log_p[:m]).sum() + weak - pool.bias @ pool.bias / 2 + (known * np.log(T)).sum()


def weak_and_trusted(m, n, seed=0):
    """(log_ps, hits, y, P): m trusted rows, then n with labels that went through the channel of pairs."""
    log_ps, classes, P = simulated(m + n, seed)
    y = drawn(pair_noise(3, 0.4)[classes], np.random.default_rng(seed + 1))
    return log_ps, np.eye(3)[classes[:m]], torch.from_numpy(y[m:]), P


START = torch.full((3, 3), 0.2) + 0.4 * torch.eye(3)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("pairs", [None, torch.full((3, 3), 2.0)], ids=["alone", "pairs"])
def test_em_climbs_the_joint_likelihood_to_its_top(monkeypatch, fixed, pairs):
    log_ps, hits, y, _ = weak_and_trusted(20, 200)
    known = np.full((3, 3), 1 / 3) + (0 if pairs is None else pairs.numpy())
    first = fit_pool(log_ps[:, :20], hits)

    def after(steps):
        monkeypatch.setattr(safegain.evidence.pooling, "MOST_STEPS", steps)
        pool, T = fit_through_channel(log_ps, hits, y, first, START, pairs, fixed=fixed)
        assert (pool.weights >= 0).all()
        np.testing.assert_allclose(T.sum(dim=1), 1, atol=1e-5)
        assert torch.equal(T, START) is fixed
        return joint(log_ps, hits, y.numpy(), pool, T.double().numpy(), known)

    monkeypatch.setattr(safegain.evidence.pooling, "SETTLED", 0.0)
    climbed = [joint(log_ps, hits, y.numpy(), first, START.double().numpy(), known)]
    climbed += [after(steps) for steps in (1, 2, 4, 8, 300)]
    assert (np.diff(climbed) > -1e-3).all()
    assert climbed[-1] > climbed[0] + 1

    def minus(v):
        T = START.double().numpy() if fixed else np.exp(log_softmax(v[6:].reshape(3, 3), axis=1))
        return -joint(log_ps, hits, y.numpy(), Pool(v[:3], v[3:6]), T, known)

    start = np.concatenate([first.weights, first.bias, START.double().log().numpy().ravel()])
    bounds = [(0, None)] * 3 + [(None, None)] * 12
    assert climbed[-1] == pytest.approx(-minimize(minus, start, method="L-BFGS-B", bounds=bounds).fun, abs=0.01)


def test_em_stops_where_it_settles(monkeypatch):
    log_ps, hits, y, _ = weak_and_trusted(20, 200)
    calls = []
    monkeypatch.setattr(safegain.evidence.pooling, "MOST_STEPS", 500)
    monkeypatch.setattr(safegain.evidence.pooling, "fit_pool", lambda *a, **k: calls.append(1) or fit_pool(*a, **k))
    pool, T = fit_through_channel(log_ps, hits, y, fit_pool(log_ps[:, :20], hits), START, None, fixed=False)
    assert 1 < len(calls) < 500
    calls.clear()
    fit_through_channel(log_ps, hits, y, pool, T, None, fixed=False)
    assert len(calls) <= 2


def test_weak_labels_help_where_trusted_rows_are_few():
    """True log-loss of fresh rows; ten simulations with twelve trusted rows and a thousand weak ones."""
    fresh, _, P = simulated(3000, seed=99)

    def loss(pool):
        return -(P * pool(fresh)).sum() / 3000

    gains = []
    for seed in range(10):
        log_ps, hits, y, _ = weak_and_trusted(12, 1000, seed)
        alone = fit_pool(log_ps[:, :12], hits)
        channel = torch.from_numpy(pair_noise(3, 0.4)).float()
        known, _ = fit_through_channel(log_ps, hits, y, alone, channel, None, fixed=True)
        both, T = fit_through_channel(log_ps, hits, y, alone, START, None, fixed=False)
        gains.append([loss(alone) - loss(known), loss(alone) - loss(both)])
        np.testing.assert_allclose(T, channel, atol=0.2)
    assert (np.mean(gains, axis=0) > 0.03).all()
    assert (np.array(gains) > 0).mean() > 0.8


def test_a_label_of_pure_noise_says_nothing():
    log_ps, hits, y, _ = weak_and_trusted(30, 100)
    noise = torch.full((3, 3), 1 / 3)
    first = fit_pool(log_ps[:, :30], hits)
    pool, T = fit_through_channel(log_ps, hits, y, first, noise, None, fixed=True)
    assert T is noise
    np.testing.assert_allclose(pool.weights, first.weights, atol=0.01)
