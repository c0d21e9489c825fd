"""Any torch.nn.Module as a model: its parameters as one flat vector, its derivatives from torch.func.

The module runs in evaluation mode: batch normalisation uses the statistics that the module came with, and they stay
as they are. Dropout layers are active in the steps of a descent, and only there: predictions, Newton's method, the
implicit engines and the upper level see the whole network. The masks of a step are drawn from its seed, so that the
reverse pass meets them again without their being stored, and torch's global generator is left as it was. The caller's
module is copied and never changed; its present weights are the start.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.func import functional_call, jvp, vjp
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.utils import parameters_to_vector

from safegain.bilevel.models.base import DENSE_HESSIAN, Gradient, Model, Pull

BLOCK_NUMBERS = 2**23  # kept for the backward pass of a block of rows


class Module(Model):
    def __init__(self, module: torch.nn.Module, n_outputs: int, *, dtype: torch.dtype) -> None:
        self.module = copy.deepcopy(module).to(dtype=dtype, device="cpu").eval()
        self.module.requires_grad_(False)
        self.seed: int | None = None  # of dropout's masks; None: no dropout
        self.with_dropout = _with_dropout(self.module)
        self.k = n_outputs
        self.shapes = {name: p.shape for name, p in self.module.named_parameters()}
        if not self.shapes:
            raise ValueError("model: the module has no parameters, so there is nothing to train; give it some layers")
        self.n_parameters = sum(shape.numel() for shape in self.shapes.values())
        self.forms_hessian = self.n_parameters <= DENSE_HESSIAN
        # Vectors are biases and the scales of normalisation: weight decay leaves them alone.
        sizes = [(shape.numel(), float(len(shape) > 1)) for shape in self.shapes.values()]
        self.decayed = torch.cat([torch.full((size,), decayed, dtype=dtype) for size, decayed in sizes])

    def init(self, generator: torch.Generator) -> Tensor:
        return parameters_to_vector(self.module.parameters())

    def on(self, device: torch.device) -> "Module":
        if device.type == "cpu":
            return self
        moved = copy.copy(self)
        moved.module = copy.deepcopy(self.module).to(device, torch.float32)
        moved.with_dropout = _with_dropout(moved.module)
        moved.decayed = self.decayed.to(device, torch.float32)
        return moved

    def block_rows(self, X: Tensor) -> int:
        # Fresh memory for all activations at once costs a convolutional network a quarter of its time.
        per_row = self._kept_numbers(X[:2]) - self._kept_numbers(X[:1])
        return max(BLOCK_NUMBERS // max(per_row, 1), 1)

    def _kept_numbers(self, X: Tensor) -> int:
        kept = []
        with (
            torch.enable_grad(),
            saved_tensors_hooks(lambda tensor: kept.append(tensor.numel()), lambda packed: packed),
        ):
            self.outputs(parameters_to_vector(self.module.parameters()).requires_grad_(), X)
        return sum(kept)

    def at_step(self, seed: int) -> "Module":
        if self.with_dropout is None:
            return self
        stepping = copy.copy(self)
        stepping.seed = seed
        return stepping

    def outputs(self, theta: Tensor, X: Tensor) -> Tensor:
        if not len(X):  # a rank without rows of this batch; many modules cannot reshape nothing
            return theta.new_zeros(0, self.k)
        parts = theta.split([shape.numel() for shape in self.shapes.values()])
        named = {name: part.view(shape) for part, (name, shape) in zip(parts, self.shapes.items(), strict=True)}
        z = self._call(named, X)
        z = z[:, None] if z.ndim == 1 else z
        if z.shape[1] == 1 and self.k == 2:  # one logit for two classes
            z = torch.cat([torch.zeros_like(z), z], dim=1)
        return z

    def _call(self, named: dict[str, Tensor], X: Tensor) -> Tensor:
        if self.seed is None or self.with_dropout is None:
            return functional_call(self.module, named, (X,))
        with _drawing(self.seed, X.device):
            return functional_call(self.with_dropout, named, (X,))

    def pullback(self, theta: Tensor, X: Tensor, g: Gradient) -> Tensor:
        z, pull = vjp(lambda t: self.outputs(t, X), theta)
        return pull(g(z))[0]

    def tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return jvp(lambda t: self.outputs(t, X), (theta,), (v,))

    def pullback_tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Pull]:
        # z and J v depend on theta; g . J v + gdot . z has the gradient that is asked for. Against forward mode over
        # reverse mode this spares the plain gradient: a sixth of the time of a small convolutional network.
        (z, zdot), pull = vjp(lambda t: self.tangent(t, X, v), theta)
        return z, zdot, lambda g, gdot: pull((gdot, g))[0]


def _with_dropout(module: torch.nn.Module) -> torch.nn.Module | None:
    """The same module, its tensors shared, with dropout switched on; None where it has none."""
    tensors = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    twin = copy.deepcopy(module, tensors)
    dropouts = [layer for layer in twin.modules() if isinstance(layer, _DropoutNd) and layer.p > 0]
    for layer in dropouts:
        layer.train()
    return twin if dropouts else None


@contextmanager
def _drawing(seed: int, device: torch.device) -> Iterator[None]:
    """What is drawn on the processor and on this device follows from the seed; their generators are left as they were.

    torch.manual_seed would also seed every other GPU.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        if device.type == "cpu":
            yield
            return
        there = torch.get_device_module(device)
        state = there.get_rng_state()
        there.manual_seed(seed)
        try:
            yield
        finally:
            there.set_rng_state(state)
