"""Small bi-level problems of every kind, in float64: model x task x weak or semi-supervised."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from safegain.bilevel.free_space import FreeSpace
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import task_measure
from safegain.bilevel.models import Linear, Module, TwoLayer
from safegain.bilevel.models.network import PACE
from safegain.bilevel.safeness import Requirement
from safegain.bilevel.search_space import Point
from safegain.bilevel.upper import UpperLevel
from safegain.data.inputs import Inputs, fit_inputs

MODELS = ("linear", "sparse", "network", "module")
CASES = list(itertools.product(MODELS, (None, 2, 3), (False, True)))  # model, classes, semi-supervised
CASE_IDS = [f"{m}-{f'{k}classes' if k else 'regression'}-{'semi' if s else 'weak'}" for m, k, s in CASES]


@dataclass(frozen=True)
class Problem:
    lower: LowerLevel
    upper: UpperLevel
    space: FreeSpace
    raw: Tensor  # (m,) raw losses, far enough apart that the worst requirement is never in doubt
    parameters: tuple[Tensor, Tensor]  # a point inside the feasible set
    theta: Tensor
    dense: Tensor | None  # what a linear model's design multiplies, written out

    @property
    def point(self) -> Point:
        return self.space.point(self.parameters)

    def objective(self, theta: Tensor) -> Tensor:
        return self.upper.objective(self.upper.losses(theta), self.raw)

    def directions(self, seed: int) -> tuple[Tensor, Tensor]:
        """A random direction in (w, Q) that keeps the rows of Q on the plane of the simplex."""
        random = torch.Generator().manual_seed(seed)
        w, Q = self.parameters
        dw = torch.randn(w.shape, dtype=w.dtype, generator=random)
        dQ = torch.randn(Q.shape, dtype=Q.dtype, generator=random)
        return dw, dQ if Q.ndim == 1 else dQ - dQ.mean(dim=1, keepdim=True)

    def outputs(self, theta: Tensor) -> Tensor:
        """z of the weak rows, through operations that autograd follows."""
        if self.dense is None:
            return self.lower.model.outputs(theta, self.lower.X)
        model = self.lower.model
        return self.dense @ theta.view(model.shape) @ model.contrast.T

    def training_loss(self, theta: Tensor, w: Tensor, Q: Tensor, rows: Tensor | None = None) -> Tensor:
        """The lower level from its definition, for autograd: nothing of LowerLevel is used."""
        rows = torch.arange(len(w)) if rows is None else rows
        z = self.outputs(theta)[rows]
        if self.lower.base is None:
            loss = (Q[rows] * (torch.logsumexp(z, dim=1, keepdim=True) - z)).sum(dim=1)
        else:
            loss = (z[:, 0] - self.lower.base[rows] - Q[rows]) ** 2
        decay = self.lower.alpha / 2 * (self.lower.model.decayed * theta**2).sum()
        return (w[rows] * loss).mean() + decay


def make_problem(
    model: str, n_classes: int | None, semi: bool, *, n: int = 24, alpha: float = 0.3, seed: int = 0
) -> Problem:
    random = np.random.RandomState(seed)
    d, nv, k = 4, 12, n_classes or 1
    X, Xv = random.randn(n, d) * [1, 2, 0.5, 1], random.randn(nv, d)
    signal = X @ random.randn(d, k)
    signal_v = Xv @ random.randn(d, k)
    if model == "sparse":
        X = scipy.sparse.csr_array(np.where(np.abs(X) > 0.3, X, 0))
    inputs = fit_inputs(X, model="linear" if model == "sparse" else model, scaling="auto")
    if model == "network":
        inputs = replace(inputs, scale=inputs.scale * PACE)  # unit pace: a well-conditioned Hessian
    if n_classes is None:
        y, yv = torch.from_numpy(signal[:, 0] + random.randn(n)), torch.from_numpy(signal_v[:, 0])
    else:
        y, yv = torch.from_numpy(random.randint(k, size=n)), torch.from_numpy(signal_v.argmax(axis=1))
    built = {
        "linear": lambda: Linear(d + 1, k),
        "sparse": lambda: Linear(d + 1, k),
        "network": lambda: TwoLayer(d, 3, k, dtype=torch.float64),
        "module": lambda: _module(d, k),
    }[model]()
    if model == "network":
        built.gain /= PACE
    generator = torch.Generator().manual_seed(seed)
    theta = built.init(generator) + 0.1 * torch.randn(built.n_parameters, dtype=torch.float64, generator=generator)
    rows = inputs.rows(X)
    loss = SquaredError() if n_classes is None else CrossEntropy()
    lower = LowerLevel(built, loss, rows, y.double() if n_classes is None else None, alpha)
    upper = UpperLevel(built, yv, _requirements(inputs, Xv, nv, n_classes, random), penalty_weight=0.7)
    w = torch.from_numpy(random.uniform(0.2, 0.9, n))
    Q = torch.from_numpy(0.3 * random.randn(n) if n_classes is None else random.dirichlet(np.ones(k) * 2, size=n))
    free = torch.from_numpy(np.arange(n) % 3 > 0) if semi else None
    space = FreeSpace(Point(torch.ones(n, dtype=torch.float64), Q.clone()), eps1=1.0, eps2=float(n), free=free)
    parameters = (w, Q) if free is None else (w[free], Q[free])
    dense = None if model in ("network", "module") else rows.matmul(torch.eye(d + 1, dtype=torch.float64))
    return Problem(lower, upper, space, torch.tensor([0.0, 5.0], dtype=torch.float64), parameters, theta, dense)


def away_from_kinks(problem: Problem) -> Problem:
    """The same problem with a start of the rectified network from which it reaches a smooth minimum.

    Such a network often ends on a kink, where nothing is differentiable. Here two hidden units begin far on their
    active side for every row and one far on its dead side, and stay there.
    """
    theta = problem.theta.clone()
    _, a, V, b = problem.lower.model.split(theta)
    a.copy_(torch.tensor([8.0, 8.0, -30.0]))
    b.copy_(-problem.lower.model.gain * V @ a.clamp(min=0))
    return replace(problem, theta=theta)


def _module(d: int, k: int) -> Module:
    net = torch.nn.Sequential(torch.nn.Linear(d, 3), torch.nn.Tanh(), torch.nn.Linear(3, k))
    with torch.no_grad():
        for i, parameter in enumerate(net.parameters()):
            parameter.copy_(torch.sin(torch.arange(parameter.numel()) + i).view(parameter.shape))
    return Module(net, k, dtype=torch.float64)


def _requirements(
    inputs: Inputs, Xv: np.ndarray, nv: int, n_classes: int | None, random: np.random.RandomState
) -> tuple[Requirement, ...]:
    """Two requirements on two different inputs, so that sums over inputs are tested too."""
    measure = task_measure(n_classes is not None)
    half, weights = Xv.copy(), random.dirichlet(np.ones(nv), size=2)
    half[:, 2:] = 0
    return tuple(
        Requirement(f"set {i}", inputs.rows(part), torch.from_numpy(weights[i]), measure)
        for i, part in enumerate((Xv, half))
    )


def numpy_state() -> tuple[list[int], int]:
    """numpy's global generator: its keys, and how many of them are used up. Keys alone change once in 624 draws."""
    keys, position = np.random.get_state()[1:3]  # noqa: NPY002
    return keys.tolist(), position
