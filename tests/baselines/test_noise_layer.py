"""The noise layer against the product that it stands for."""

import pytest
import torch

from safegain.baselines.noise_layer import NoiseLayer, corrected_loss, log_given, smoothed_identity
from tests.baselines.samples import generator, material, network


def test_noise_layer_is_a_product_with_the_transition_matrix():
    random = generator()
    p = torch.softmax(torch.randn(4, 3, generator=random).double(), dim=1)
    T = torch.softmax(torch.randn(3, 3, generator=random).double(), dim=1)
    assert torch.allclose(log_given(p.log(), T.log()).exp(), p @ T, atol=1e-12)
    start = smoothed_identity(3, 0.3, torch.float64)
    assert torch.allclose(start, torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]).double())
    of = material()
    layer = NoiseLayer(network(of), of, generator(), smoothing=0.3)
    assert torch.allclose(torch.softmax(layer.own_parameters()[0], dim=1), start)
    y, trusted = torch.tensor([0, 1, 2, 0]), torch.tensor([True, False, True, False])
    rows = torch.arange(4)
    by_hand = -torch.where(trusted, p[rows, y], (p @ T)[rows, y]).log().mean()
    assert corrected_loss(p.log(), y, trusted, T.log()) == pytest.approx(by_hand.item())
