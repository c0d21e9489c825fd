"""What models are made of."""

import pytest
import torch

from safegain.bilevel.models.base import Model
from safegain.bilevel.models.linear import Linear, _zero_sum_basis
from safegain.bilevel.models.module import Module
from safegain.bilevel.models.network import TwoLayer
from safegain.data.design import DenseDesign
from safegain.data.rows import ArrayRows
from tests.bilevel.softmax import close


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_contrasts_are_an_orthonormal_basis_of_what_sums_to_zero(k):
    C = _zero_sum_basis(k)
    close(C.T @ C, torch.eye(max(k - 1, 1), dtype=torch.float64), 1e-12)
    if k > 1:
        assert C.sum(dim=0).abs().max() < 1e-12


DROPOUT = torch.nn.Sequential(torch.nn.Linear(4, 50), torch.nn.Dropout(0.5), torch.nn.Linear(50, 3))
MODELS = [Linear(4, 3), TwoLayer(4, 5, 3, dtype=torch.float64), Module(DROPOUT, 3, dtype=torch.float64)]
DROPPING = TwoLayer(4, 50, 3, dtype=torch.float64, dropout=0.4)


def inputs(model, n=7):
    X = torch.randn(n, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    if not isinstance(model, Linear):
        return X
    return DenseDesign(ArrayRows(X[:, :3].numpy()), mean=torch.zeros(3).double(), scale=torch.ones(3).double())


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_every_model_has(model):
    assert isinstance(model, Model)
    theta = model.init(torch.Generator().manual_seed(0))
    assert theta.shape == model.decayed.shape == (model.n_parameters,)
    assert set(model.decayed.tolist()) == {0.0, 1.0}  # intercepts and biases are left alone
    X = inputs(model)
    z = model.outputs(theta, X)
    assert z.shape == (7, 3)
    close(model.all_outputs(theta, X), z, 1e-12)
    assert model.block_rows(X) >= 1


@pytest.mark.parametrize("plain", [MODELS[2], DROPPING], ids=["module", "network"])
def test_dropout_is_of_a_step_alone_and_follows_from_its_seed(plain):
    X = inputs(plain)
    theta, state = plain.init(torch.Generator()), torch.get_rng_state()
    first, again, other = (plain.at_step(seed).outputs(theta, X) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(plain.outputs(theta, X), plain.outputs(theta, X))
    assert torch.equal(torch.get_rng_state(), state)
    assert MODELS[1].at_step(1) is MODELS[1]


def test_a_network_with_dropout_is_right_on_average():
    """The gain makes up for the units that are dropped."""
    theta, X = DROPPING.init(torch.Generator().manual_seed(0)), inputs(DROPPING)
    mean = torch.stack([DROPPING.at_step(seed).outputs(theta, X) for seed in range(4000)]).mean(dim=0)
    whole = DROPPING.outputs(theta, X)
    assert (mean - whole).abs().max() < 0.05 * whole.abs().max()


@pytest.mark.parametrize("step", [None, 3])
def test_passes_of_a_network_are_those_of_autograd(step):
    """With dropout too, where the masks of a step are the same in every pass."""
    model = DROPPING if step is None else DROPPING.at_step(step)
    X, random = inputs(model), torch.Generator().manual_seed(2)
    theta = model.init(random)
    v, g, gdot = (torch.randn(shape, dtype=torch.float64, generator=random) for shape in (theta.shape, (7, 3), (7, 3)))
    z, pull = torch.func.vjp(lambda t: model.outputs(t, X), theta)
    close(model.pullback(theta, X, lambda _: g), pull(g)[0], 1e-12)
    ours, zdot, back = model.pullback_tangent(theta, X, v)
    close(ours, z, 1e-12)
    close(zdot, torch.func.jvp(lambda t: model.outputs(t, X), (theta,), (v,))[1], 1e-12)

    def gradient(t):  # J' g, whose tangent along v is half of what `back` gives
        return torch.func.vjp(lambda u: model.outputs(u, X), t)[1](g)[0]

    close(back(g, gdot), torch.func.jvp(gradient, (theta,), (v,))[1] + pull(gdot)[0], 1e-12)
