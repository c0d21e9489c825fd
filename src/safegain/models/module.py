"""Any torch.nn.Module as a model: its parameters as one flat vector, its derivatives from torch.func.

The module runs in evaluation mode throughout: dropout is off and batch normalisation uses the statistics that
the module came with. The caller's module is copied and never changed; its present weights are the start.
"""

import copy

import torch
from torch import Tensor
from torch.func import functional_call, jvp, vjp
from torch.nn.utils import parameters_to_vector

from safegain.models.base import DENSE_HESSIAN, Gradient, GradientTangent, Model


class Module(Model):
    def __init__(self, module: torch.nn.Module, n_outputs: int, *, dtype: torch.dtype) -> None:
        self.module = copy.deepcopy(module).to(dtype=dtype, device="cpu").eval()
        self.module.requires_grad_(False)
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

    def outputs(self, theta: Tensor, X: Tensor) -> Tensor:
        parts = theta.split([shape.numel() for shape in self.shapes.values()])
        named = {name: part.view(shape) for part, (name, shape) in zip(parts, self.shapes.items(), strict=True)}
        z = functional_call(self.module, named, (X,))
        z = z[:, None] if z.ndim == 1 else z
        if z.shape[1] == 1 and self.k == 2:  # one logit for two classes
            z = torch.cat([torch.zeros_like(z), z], dim=1)
        return z

    def pullback(self, theta: Tensor, X: Tensor, g: Gradient) -> Tensor:
        z, pull = vjp(lambda t: self.outputs(t, X), theta)
        return pull(g(z))[0]

    def tangent(self, theta: Tensor, X: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        return jvp(lambda t: self.outputs(t, X), (theta,), (v,))

    def pullback_tangent(
        self, theta: Tensor, X: Tensor, v: Tensor, g: Gradient, gdot: GradientTangent
    ) -> tuple[Tensor, Tensor, Tensor]:
        def pulled(t: Tensor) -> tuple[Tensor, Tensor]:
            z, pull = vjp(lambda s: self.outputs(s, X), t)
            return z, pull(g(z))[0]  # forward mode differentiates g itself: gdot is not needed

        (z, _), (zdot, hv) = jvp(pulled, (theta,), (v,))
        return z, zdot, hv
