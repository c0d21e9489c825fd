"""Update rules of gradient descent, Eq. (13), and its kin, each with the transpose of its own derivative.

A rule maps (theta, state, gradient g, step number t) to the next (theta, state). Its reverse takes the
adjoints of what came out and gives the adjoints of what went in: theta (directly, not through g), state, and g.
Epsilon stands under the root, so that every rule is differentiable where a gradient is exactly zero.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from safegain.data.settings import Settings, check, is_number, is_share, is_whole, setting

State = tuple[Tensor, ...]


@dataclass(frozen=True)
class Pace:
    """What an adaptive rule goes by at one step."""

    rate: float
    beta1: float
    kept: float = 1.0  # of theta: less than one under weight decay


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

    def over(self, n_steps: int) -> "UpdateRule":
        """The rule for a descent of that many steps."""
        return self

    def tail(self, n_steps: int) -> int | None:
        """How many of its last steps a hypergradient takes, unless it is told; None: all."""
        return None

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
        """`state` is the state before the step, () of a linear rule. Only weight decay changes the adjoint of theta."""


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


class MovingMeans(UpdateRule):
    """m and v are running means of g and g^2, with their bias removed: theta - eta (m / sqrt(v + eps) + decay theta)"""

    beta2: float
    eps: float
    floors = ("eps",)
    n_state = 2
    linear = False

    @abstractmethod
    def pace(self, t: int) -> Pace: ...

    def step(self, theta: Tensor, state: State, g: Tensor, t: int) -> tuple[Tensor, State]:
        pace = self.pace(t)
        m, v = self._moments(pace, state, g)
        c1, c2 = 1 - pace.beta1**t, 1 - self.beta2**t
        return pace.kept * theta - pace.rate / c1 * m / (v / c2 + self.eps).sqrt(), (m, v)

    def reverse(
        self, adjoint: Tensor, state_adjoint: State, state: State, g: Tensor | None, t: int
    ) -> tuple[Tensor, State, Tensor]:
        assert g is not None
        pace = self.pace(t)
        m, v = self._moments(pace, state, g)
        c1, c2 = 1 - pace.beta1**t, 1 - self.beta2**t
        inverse = (v / c2 + self.eps).rsqrt()
        step = pace.rate / c1 * adjoint * inverse
        am = state_adjoint[0] - step
        av = state_adjoint[1] + 0.5 / c2 * step * m * inverse.square()
        ag = (1 - pace.beta1) * am + 2 * (1 - self.beta2) * g * av
        return pace.kept * adjoint, (pace.beta1 * am, self.beta2 * av), ag

    def _moments(self, pace: Pace, state: State, g: Tensor) -> tuple[Tensor, Tensor]:
        m = pace.beta1 * state[0] + (1 - pace.beta1) * g
        return m, self.beta2 * state[1] + (1 - self.beta2) * g.square()


@setting
class Adam(MovingMeans):
    """The same rate in every step, and no decay."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    decays = ("beta1", "beta2")
    usual_rate = 1e-2

    def pace(self, t: int) -> Pace:
        return Pace(self.rate, self.beta1)


@setting
class OneCycleAdamW(MovingMeans):
    """AdamW under one cycle of the rate (Smith 2018), with the figures of torch.optim.lr_scheduler.OneCycleLR.

    Along half waves of a cosine the rate rises from 1/25 of `learning_rate` to all of it, over the first .3 of `cycle`
    steps, and falls to nearly nothing; beta1 falls from .95 to .85 and rises again.
    """

    weight_decay: float = 1.0
    cycle: int | None = None  # steps; None: all of the descent
    beta2: float = 0.999
    eps: float = 1e-8
    decays = ("beta2",)
    usual_rate = 3e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        decay = self.weight_decay
        check(self, "weight_decay", "be a number of at least 0", is_number(decay) and decay >= 0)
        check(self, "cycle", "be a whole number of at least 1 or None", self.cycle is None or is_whole(self.cycle))

    def over(self, n_steps: int) -> "OneCycleAdamW":
        return self if self.cycle else replace(self, cycle=n_steps)

    def tail(self, n_steps: int) -> int | None:
        return -(-n_steps // 4)

    def pace(self, t: int) -> Pace:
        assert self.cycle is not None, "Descent settles it"
        top, end, at = 0.3 * (self.cycle + 1) - 1, self.cycle, min(t - 1, self.cycle)
        rising = at <= top
        share = at / top if rising and top > 0 else (at - top) / (end - top)
        wave = (1 + math.cos(math.pi * share)) / 2  # from 1 to 0
        low = self.rate / 25
        rate = self.rate + (low - self.rate) * wave if rising else low / 1e4 + (self.rate - low / 1e4) * wave
        beta1 = 0.85 + 0.1 * (wave if rising else 1 - wave)
        return Pace(rate, beta1, kept=1 - rate * self.weight_decay)
