"""The channel: simulated noise is found, and EM against an outside optimiser."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import safegain.evidence.channel
import safegain.learners.recipe
from safegain.evidence.channel import most_likely_channel
from tests.evidence.samples import pair_noise, uniform_noise


def drawn(P, rng):
    """A class number for each row of P."""
    return (P.cumsum(axis=1) > rng.rand(len(P), 1)).argmax(axis=1)


def found(p, y, pairs=None):
    return most_likely_channel(torch.from_numpy(p).float(), torch.from_numpy(y), pairs).double().numpy()


@pytest.mark.parametrize("T", [uniform_noise(3, 0.4), pair_noise(3, 0.4)], ids=["uniform", "pair"])
def test_the_noise_is_found(T):
    rng = np.random.RandomState(0)
    p = rng.dirichlet(np.full(3, 0.3), size=6000)
    channel = found(p, drawn(T[drawn(p, rng)], rng))
    np.testing.assert_allclose(channel, T, atol=0.04)
    np.testing.assert_allclose(channel.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("pairs", [None, [[30.0, 1.0], [12.0, 5.0]]], ids=["alone", "pairs"])
def test_the_channel_is_the_most_likely_one(monkeypatch, pairs):
    rng = np.random.RandomState(0)
    p, y = rng.dirichlet([0.4, 0.4], size=80), rng.randint(2, size=80)
    known = np.full((2, 2), 0.5) + (0 if pairs is None else np.array(pairs))  # one made-up row of each class

    def likelihood(T):
        return np.log((p * T.T[y]).sum(axis=1)).sum() + (known * np.log(T)).sum()

    def steps(n):
        monkeypatch.setattr(safegain.evidence.channel, "EM_STEPS", n)
        return likelihood(found(p, y, None if pairs is None else torch.tensor(pairs)))

    climbed = [steps(n) for n in (0, 1, 2, 3, 5, 10, 20, 50)]
    assert (np.diff(climbed) > -1e-4).all()
    assert climbed[-1] > climbed[0] + 1

    def minus(v):
        right = 1 / (1 + np.exp(-v))
        return -likelihood(np.array([[right[0], 1 - right[0]], [1 - right[1], right[1]]]))

    assert climbed[-1] == pytest.approx(-minimize(minus, [0.0, 0.0], method="Nelder-Mead").fun, abs=0.01)


def test_pairs_say_what_rows_leave_open():
    """Rows of which nothing is known say how often each label occurs, and not which class it comes from."""
    T = pair_noise(3, 0.4)
    y = np.random.RandomState(0).randint(3, size=300)
    p = np.full((300, 3), 1 / 3)
    alone, told = found(p, y), found(p, y, torch.from_numpy(1e4 * T).float())
    assert np.abs(alone - T).max() > 0.2
    np.testing.assert_allclose(told, T, atol=0.02)


def test_what_a_label_says_of_a_row_is_the_same_for_evidence_and_networks():
    assert safegain.evidence.channel.posterior is safegain.learners.recipe.posterior
