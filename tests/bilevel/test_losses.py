"""Row losses against autograd."""

import pytest
import torch

from safegain.bilevel.losses import CrossEntropy, SquaredError
from tests.bilevel.softmax import close, random_vector


@pytest.mark.parametrize("loss", [CrossEntropy(), SquaredError()])
def test_loss_expands_to_its_value_gradient_and_prediction(loss):
    k = 1 if isinstance(loss, SquaredError) else 4
    z, zdot, target = (random_vector(5 * k, seed).view(5, k) for seed in range(3))
    target = target[:, 0] if k == 1 else torch.softmax(target, dim=1)
    value, grad, prediction = loss.expand(z, target)
    close(value, loss.value(z, target), 1e-13)
    close(grad, loss.grad(z, target), 1e-13)
    close(loss.curve_at(prediction, zdot), torch.func.jvp(lambda z: loss.grad(z, target), (z,), (zdot,))[1], 1e-12)
