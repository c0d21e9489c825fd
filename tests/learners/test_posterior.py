"""Training on a posterior: by hand, and against the losses that it holds as special cases."""

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from safegain.baselines.noise_layer import corrected_loss
from safegain.bilevel.models import TwoLayer
from safegain.evidence.classes import Evidence
from safegain.learners.recipe import DropoutNetwork, Material, OnPosterior, posterior
from tests.evidence.samples import uniform_noise

NONE = torch.tensor([], dtype=torch.int64)


def test_posterior_by_hand():
    p = torch.tensor([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    T = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
    found = posterior(p.log(), T, torch.tensor([1, -1]))
    # 0.5 * 0.1, 0.3 * 0.6, 0.2 * 0.3, which sum to 0.29
    np.testing.assert_allclose(found, [[5 / 29, 18 / 29, 6 / 29], [0.5, 0.3, 0.2]], rtol=1e-5)


def a_batch(n=12, k=3, d=4):
    """(network without dropout, material, evidence); some rows are trusted and some have no label."""
    rng = np.random.RandomState(0)
    trusted = torch.arange(n) % 4 == 0
    y = torch.from_numpy(np.where(~trusted.numpy() & (np.arange(n) % 5 == 1), -1, rng.randint(k, size=n)))
    X = torch.from_numpy(rng.randn(n, d))
    material = Material(X, y, trusted, X[NONE], y[NONE], k)
    model = TwoLayer(d, 5, k, dtype=torch.float64, gain=1.0)
    network = DropoutNetwork(model, 0.0, torch.Generator().manual_seed(0))
    log_p = torch.from_numpy(np.log(rng.dirichlet(np.ones(k), size=n)))
    T = torch.from_numpy(uniform_noise(k, 0.4))
    one_hot = torch.eye(k, dtype=torch.float64)[y.clamp(min=0)]
    Q = torch.where(trusted[:, None], one_hot, posterior(log_p, T, y))
    return network, material, Evidence(log_p, T, Q, 0.0)


def gradient(network, loss):
    return torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(network.parameters()))])


def test_a_share_of_zero_is_a_noise_layer_and_of_one_the_evidences_posterior():
    network, material, evidence = a_batch()
    rows, labelled = torch.arange(12), material.labelled

    def of(share, rows):
        objective = OnPosterior(network, material, torch.Generator(), belief=evidence, share=share)
        assert objective.rows.tolist() == list(range(12))  # rows without a label too
        return gradient(network, objective.loss(rows, 0.0))

    z = network(material.X)
    layer = corrected_loss(z[labelled], material.y[labelled], material.trusted[labelled], evidence.transition.log())
    np.testing.assert_allclose(of(0.0, labelled), gradient(network, layer), atol=1e-12)
    np.testing.assert_allclose(
        of(1.0, rows), gradient(network, cross_entropy(network(material.X), evidence.Q)), atol=1e-12
    )
    bare = material.unlabelled
    alone = cross_entropy(network(material.X[bare]), evidence.log_p[bare].exp())
    np.testing.assert_allclose(of(0.0, bare), gradient(network, alone), atol=1e-12)
    two = torch.tensor([2, 3])  # weak rows with a label
    assert (material.y[two] >= 0).all()
    own, p = network(material.X[two]).detach().softmax(dim=1), evidence.log_p[two].exp()
    q = own**0.7 * p**0.3 * evidence.transition.T[material.y[two]]
    between = cross_entropy(network(material.X[two]), q / q.sum(dim=1, keepdim=True))
    np.testing.assert_allclose(of(0.3, two), gradient(network, between), atol=1e-12)
