"""Models: maps from a flat parameter vector and rows to outputs, with the passes that both levels need.

Invariant: `theta` is one flat tensor (p,), so that solvers and engines are vector arithmetic. A model gives

    outputs            z(theta)
    pullback           J' g(z)                    one forward, one backward pass
    tangent            z and J v                  one forward pass and its tangent
    pullback_tangent   z, J v, and the map from (g, gdot) to d/dtheta[J' g] v:
                       together one fused forward + tangent + backward pass

where J = dz/dtheta, g is a gradient in z and gdot its tangent along J v.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from safegain.data.rows import StreamedRows

Gradient = Callable[[Tensor], Tensor]
Pull = Callable[[Tensor, Tensor], Tensor]


DENSE_HESSIAN = 1500  # parameters up to which a Hessian is formed


class Model(ABC):
    n_parameters: int
    forms_hessian: bool  # few enough parameters that forming the Hessian pays
    decayed: Tensor  # (p,) 1 where weight decay applies, 0 at intercepts and biases

    @abstractmethod
    def init(self, generator: torch.Generator) -> Tensor: ...

    @abstractmethod
    def outputs(self, theta: Tensor, X: Any) -> Tensor: ...

    def all_outputs(self, theta: Tensor, X: Any) -> Tensor:
        """z(theta) of all rows, in blocks where they are streamed."""
        if isinstance(X, StreamedRows):
            return torch.cat([self.outputs(theta, block) for block in X.blocks()])
        return self.outputs(theta, X)

    @abstractmethod
    def pullback(self, theta: Tensor, X: Any, g: Gradient) -> Tensor: ...

    @abstractmethod
    def tangent(self, theta: Tensor, X: Any, v: Tensor) -> tuple[Tensor, Tensor]: ...

    def tangents(self, theta: Tensor, X: Any, v: Tensor) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """z and J v, some rows at a time where a model can."""
        yield slice(None), *self.tangent(theta, X, v)

    @abstractmethod
    def pullback_tangent(self, theta: Tensor, X: Any, v: Tensor) -> tuple[Tensor, Tensor, Pull]: ...

    def block_rows(self, X: Any) -> int:
        """How many of these rows a pass should take at once: sums over rows are formed in such blocks."""
        return max(len(X), 1)

    def on(self, device: torch.device) -> "Model":
        """The model there, in single precision, if it can be trained on that device; else as it is."""
        return self

    def at_step(self, seed: int) -> "Model":
        """The model as a step of a descent sees it: what is random in it follows from the seed."""
        return self
