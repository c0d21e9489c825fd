"""Update rules of gradient descent, Eq. (13), and its kin, each with the transpose of its own derivative.

A rule maps (theta, state, gradient g, step number t) to the next (theta, state). Its reverse takes the
adjoints of what came out and gives the adjoints of what went in: theta (directly, not through g), state, and g.
Epsilon stands under the root, so that every rule is differentiable where a gradient is exactly zero.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from safegain.data.settings import Settings, check, is_number, is_share, setting

State = tuple[Tensor, ...]


@dataclass(frozen=True)
class UpdateRule(Settings, ABC):
    learning_rate: float | None = None  # None: settled on the raw problem at its start

    n_state = 0  # state vectors beside theta
    usual_rate: ClassVar[float | None] = None  # None: `share` over the largest curvature at the start
    share: ClassVar[float] = 0.1
    decays: ClassVar[tuple[str, ...]] = ()  # fields that say how much of a running mean is kept
    floors: ClassVar[tuple[str, ...]] = ()  # fields that keep a divisor from zero
    linear = True  # the reverse pass asks for neither the state nor the gradient that was used

    def __post_init__(self) -> None:
        rate = self.learning_rate
        check(self, "learning_rate", "be positive or None", rate is None or (is_number(rate) and rate > 0))
        for name in self.decays:
            check(self, name, "be at least 0 and below 1", is_share(getattr(self, name)))
        for name in self.floors:
            check(self, name, "be positive", is_number(getattr(self, name)) and getattr(self, name) > 0)

    @property
    def rate(self) -> float:
        if self.learning_rate is None:
            raise ValueError(f"{type(self).__name__}: learning_rate is not settled yet; give one, or use a search")
        return self.learning_rate

    @property
    def n_kept(self) -> int:
        """Vectors of a step that the reverse pass asks for: theta, and where the rule is not linear g and state."""
        return 1 if self.linear else 2 + self.n_state

    def init(self, theta: Tensor) -> State:
        return tuple(torch.zeros_like(theta) for _ in range(self.n_state))

    @abstractmethod
    def step(self, theta: Tensor, state: State, g: Tensor, t: int) -> tuple[Tensor, State]: ...

    @abstractmethod
    def reverse(
        self, adjoint: Tensor, state_adjoint: State, state: State, g: Tensor | None, t: int
    ) -> tuple[Tensor, State, Tensor]:
        """`state` is the state before the step, () of a linear rule. The adjoint of theta passes through unchanged."""


@setting
class GradientDescent(UpdateRule):
    """theta - eta g"""

    def step(self, theta: Tensor, state: State, g: Tensor, t: int) -> tuple[Tensor, State]:
        return theta - self.rate * g, ()

    def reverse(
        self, adjoint: Tensor, state_adjoint: State, state: State, g: Tensor | None, t: int
    ) -> tuple[Tensor, State, Tensor]:
        return adjoint, (), -self.rate * adjoint


@setting
class Momentum(UpdateRule):
    """m <- beta m + g, theta - eta m"""

    beta: float = 0.9
    decays = ("beta",)
    n_state = 1
    share = 0.01  # momentum adds up ten gradients

    def step(self, theta: Tensor, state: State, g: Tensor, t: int) -> tuple[Tensor, State]:
        m = self.beta * state[0] + g
        return theta - self.rate * m, (m,)

    def reverse(
        self, adjoint: Tensor, state_adjoint: State, state: State, g: Tensor | None, t: int
    ) -> tuple[Tensor, State, Tensor]:
        am = state_adjoint[0] - self.rate * adjoint
        return adjoint, (self.beta * am,), am


@setting
class RMSProp(UpdateRule):
    """v <- rho v + (1 - rho) g^2, theta - eta g / sqrt(v + eps)"""

    rho: float = 0.99
    eps: float = 1e-8
    decays = ("rho",)
    floors = ("eps",)
    n_state = 1
    linear = False
    usual_rate = 1e-3

    def step(self, theta: Tensor, state: State, g: Tensor, t: int) -> tuple[Tensor, State]:
        v = self.rho * state[0] + (1 - self.rho) * g.square()
        return theta - self.rate * g / (v + self.eps).sqrt(), (v,)

    def reverse(
        self, adjoint: Tensor, state_adjoint: State, state: State, g: Tensor | None, t: int
    ) -> tuple[Tensor, State, Tensor]:
        assert g is not None
        v = self.rho * state[0] + (1 - self.rho) * g.square()
        inverse = (v + self.eps).rsqrt()
        step = self.rate * adjoint * inverse
        av = state_adjoint[0] + 0.5 * step * g * inverse.square()
        return adjoint, (self.rho * av,), 2 * (1 - self.rho) * g * av - step


@setting
class Adam(UpdateRule):
    """m and v are running means of g and g^2, with their bias removed: theta - eta m / sqrt(v + eps)"""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    decays = ("beta1", "beta2")
    floors = ("eps",)
    n_state = 2
    linear = False
    usual_rate = 1e-2

    def step(self, theta: Tensor, state: State, g: Tensor, t: int) -> tuple[Tensor, State]:
        m, v = self._moments(state, g)
        c1, c2 = 1 - self.beta1**t, 1 - self.beta2**t
        return theta - self.rate / c1 * m / (v / c2 + self.eps).sqrt(), (m, v)

    def reverse(
        self, adjoint: Tensor, state_adjoint: State, state: State, g: Tensor | None, t: int
    ) -> tuple[Tensor, State, Tensor]:
        assert g is not None
        m, v = self._moments(state, g)
        c1, c2 = 1 - self.beta1**t, 1 - self.beta2**t
        inverse = (v / c2 + self.eps).rsqrt()
        step = self.rate / c1 * adjoint * inverse
        am = state_adjoint[0] - step
        av = state_adjoint[1] + 0.5 / c2 * step * m * inverse.square()
        ag = (1 - self.beta1) * am + 2 * (1 - self.beta2) * g * av
        return adjoint, (self.beta1 * am, self.beta2 * av), ag

    def _moments(self, state: State, g: Tensor) -> tuple[Tensor, Tensor]:
        m = self.beta1 * state[0] + (1 - self.beta1) * g
        return m, self.beta2 * state[1] + (1 - self.beta2) * g.square()
