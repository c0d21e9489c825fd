"""How labels go wrong, against a general optimiser, and what follows for a row."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from safegain.evidence import channel
from safegain.evidence.channel import Channel, Evidence, counted_pairs, most_likely_transition, posterior
from tests.evidence.samples import pair_noise, uniform_noise

MATRIX = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
NEAR = torch.tensor([0.5, 0.9, 0.25], dtype=torch.float64)
LABELS = torch.tensor([1, -1, 2])


def test_likelihood_by_hand():
    """A row without a label has ones, whatever its neighbours are labelled."""
    found = Channel(MATRIX, 0.4).likelihood(LABELS, NEAR)
    first = [0.6 * 0.1 + 0.4 * 0.5, 0.6 * 0.6 + 0.4 * 0.5, 0.6 * 0.3 + 0.4 * 0.5]
    third = [0.6 * 0.1 + 0.4 * 0.25, 0.6 * 0.2 + 0.4 * 0.25, 0.6 * 0.4 + 0.4 * 0.25]
    np.testing.assert_allclose(found, [first, [1, 1, 1], third], rtol=1e-6)
    assert found.dtype == torch.float64


def test_without_a_local_share_the_likelihood_is_the_matrix():
    found = Channel(MATRIX).likelihood(LABELS, NEAR)
    assert torch.equal(found, torch.stack([MATRIX[:, 1], torch.ones(3), MATRIX[:, 2]]).double())


@pytest.mark.parametrize("local", [0.0, 0.3, 1.0])
def test_labels_of_a_class_are_a_distribution(local):
    r, labels = torch.tensor([0.2, 0.7, 0.1], dtype=torch.float64), torch.arange(3)
    found = Channel(MATRIX, local).likelihood(labels, r)
    np.testing.assert_allclose(found.sum(dim=0), 1, rtol=1e-6)


def test_posterior_by_hand():
    p = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    found = posterior(p.log(), torch.tensor([[0.1, 0.6, 0.3], [1.0, 1.0, 1.0]]))
    # 0.5 * 0.1, 0.3 * 0.6, 0.2 * 0.3, which sum to 0.29
    np.testing.assert_allclose(found, [[5 / 29, 18 / 29, 6 / 29], [0.5, 0.3, 0.2]], rtol=1e-5)


def test_a_label_that_is_all_hereabouts_says_nothing_of_its_row():
    p = torch.tensor([[0.5, 0.3, 0.2]] * 3, dtype=torch.float64)
    np.testing.assert_allclose(posterior(p.log(), Channel(MATRIX, 1.0).likelihood(LABELS, NEAR)), p)


def test_what_a_checkpoint_keeps_comes_back():
    """To the bit."""
    random = np.random.RandomState(0)
    Q = torch.from_numpy(random.dirichlet(np.ones(3), size=7)).float()
    near = torch.from_numpy(random.rand(7))
    found = Evidence(Q.log(), Channel(MATRIX, 0.1 + 0.2), near, Q)
    again = Evidence.from_tensors(found.tensors)
    assert again.channel.local == found.channel.local
    assert torch.equal(again.channel.T, found.channel.T)
    for name in ("log_p", "near", "Q"):
        assert torch.equal(getattr(again, name), getattr(found, name))


def test_pairs_are_counted():
    y, given = torch.tensor([0, 0, 1, 2, 2, 2]), torch.tensor([0, 2, 1, -1, 2, 2])
    assert counted_pairs(y, given, 3).tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 2]]


@pytest.mark.parametrize("T", [uniform_noise(3, 0.4), pair_noise(3, 0.4)], ids=["uniform", "pair"])
def test_the_noise_is_found(T):
    rng = np.random.RandomState(0)
    p = rng.dirichlet(np.full(3, 0.3), size=6000)
    classes = (p.cumsum(axis=1) > rng.rand(6000, 1)).argmax(axis=1)
    y = (T[classes].cumsum(axis=1) > rng.rand(6000, 1)).argmax(axis=1)
    found = most_likely_transition(torch.from_numpy(p).float(), torch.from_numpy(y))
    np.testing.assert_allclose(found, T, atol=0.04)
    np.testing.assert_allclose(found.sum(dim=1), 1, atol=1e-5)


def test_the_noise_is_the_most_likely_one(monkeypatch):
    rng = np.random.RandomState(0)
    p, y = rng.dirichlet([0.4, 0.4], size=80), rng.randint(2, size=80)

    def likelihood(T):  # with one made-up row of each class, spread over both labels
        return np.log((p * T.T[y]).sum(axis=1)).sum() + np.log(T).sum() / 2

    def steps(n):
        monkeypatch.setattr(channel, "EM_STEPS", n)
        return likelihood(most_likely_transition(torch.from_numpy(p).float(), torch.from_numpy(y)).double().numpy())

    climbed = [steps(n) for n in (0, 1, 2, 3, 5, 10, 20, 50)]
    assert (np.diff(climbed) > -1e-4).all()
    assert climbed[-1] > climbed[0] + 1

    def minus(v):
        right = 1 / (1 + np.exp(-v))
        return -likelihood(np.array([[right[0], 1 - right[0]], [1 - right[1], right[1]]]))

    assert climbed[-1] == pytest.approx(-minimize(minus, [0.0, 0.0], method="Nelder-Mead").fun, abs=0.01)


def test_pairs_of_class_and_label_alone_make_a_channel_of_their_frequencies():
    """200 pairs a class; evidence that knows nothing, of rows whose labels are as frequent as those of the pairs."""
    random = np.random.default_rng(0)
    truth = np.array([[0.7, 0.2, 0.1], [0.05, 0.9, 0.05], [0.3, 0.0, 0.7]])
    classes = np.repeat(np.arange(3), 200)
    given = np.array([random.choice(3, p=truth[j]) for j in classes])
    pairs = torch.zeros(3, 3)
    for j, l in zip(classes, given, strict=True):  # noqa: E741 - as in T[j, l]
        pairs[j, l] += 1
    flat = torch.full((600, 3), 1 / 3)
    found = most_likely_transition(flat, torch.from_numpy(given), pairs)
    frequencies = pairs / 200
    assert float((found - frequencies).abs().max()) < 0.01
    assert float((most_likely_transition(flat, torch.from_numpy(given)) - frequencies).abs().max()) > 0.1
    none = most_likely_transition(flat[:0], torch.from_numpy(given[:0]), pairs)
    np.testing.assert_allclose(none.numpy(), ((pairs + 1 / 3) / 201).numpy(), atol=1e-6)


def test_pairs_add_their_log_likelihood_to_that_of_the_weak_rows():
    """Against a general optimiser."""
    random = np.random.default_rng(1)
    p = random.dirichlet([0.5, 0.5], size=80)
    y, pairs = random.integers(2, size=80), np.array([[9.0, 4.0], [1.0, 6.0]])

    def loss(z):
        T = np.stack([[1 / (1 + np.exp(-each)), 1 / (1 + np.exp(each))] for each in z])
        return -np.log((p * T.T[y]).sum(axis=1)).sum() - ((pairs + 0.5) * np.log(T)).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
    found = most_likely_transition(torch.from_numpy(p).float(), torch.from_numpy(y), torch.from_numpy(pairs).float())
    np.testing.assert_allclose(found[:, 0].numpy(), 1 / (1 + np.exp(-best)), atol=1e-3)
