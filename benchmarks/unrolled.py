"""One unrolled hypergradient against the plain steps that it walks back, and against other ways to have it.

The others are autograd through the steps as written, and the same with `higher` and `TorchOpt`. Start, rows, learning
rate and derivatives (in w and Q, of v . theta_T) are the same for all, and so must the results be. Times are ratios
within one run; memory is what a process of its own takes beyond its data.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.utils import parameters_to_vector

from benchmarks.measure import compare, forget_peak, in_process, peak_bytes, row
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.models import Module, TwoLayer
from safegain.bilevel.models.network import PACE
from safegain.bilevel.solvers import Descent
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import GradientDescent

RATE = 0.1
Derivatives = tuple[Tensor, Tensor]


class Network(nn.Module):
    """`TwoLayer` as others write it."""

    def __init__(self, d: int, h: int, k: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(d, h), nn.Linear(h, k)
        self.gain = PACE * h**-0.5

    def forward(self, X: Tensor) -> Tensor:
        return self.output(self.gain * self.hidden(X).relu())


def convolutional() -> nn.Module:
    first = nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    second = nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(16 * 49, 10))


@dataclass(frozen=True)
class Problem:
    lower: LowerLevel
    net: Callable[[], nn.Module]  # the same model at its start
    start: Tensor
    w: Tensor
    Q: Tensor
    v: Tensor
    steps: int

    def loss(self, z: Tensor, w: Tensor, Q: Tensor) -> Tensor:
        return (w * -(Q * torch.log_softmax(z, dim=1)).sum(dim=1)).mean()


def make(kind: str, n: int, steps: int, dtype: torch.dtype = torch.float32) -> Problem:
    random = torch.Generator().manual_seed(0)
    if kind == "network":
        model: TwoLayer | Module = TwoLayer(784, 100, 10, dtype=dtype)
        X = torch.randn(n, 784, dtype=dtype, generator=random) * PACE / 28
        start = model.init(random)
        bare = partial(Network, 784, 100, 10)
    else:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            model = Module(convolutional(), 10, dtype=dtype)
        X = torch.randn(n, 1, 28, 28, dtype=dtype, generator=random)
        start = model.init(random)
        bare = convolutional

    def net() -> nn.Module:
        made = bare().to(dtype)
        nn.utils.vector_to_parameters(start.clone(), made.parameters())
        return made

    w = torch.rand(n, dtype=dtype, generator=random)
    Q = torch.softmax(2 * torch.randn(n, 10, dtype=dtype, generator=random), dim=1)
    v = torch.randn(len(start), dtype=dtype, generator=random)
    return Problem(LowerLevel(model, CrossEntropy(), X, None, 0.0), net, start, w, Q, v, steps)


def plain(p: Problem) -> None:
    Descent(GradientDescent(RATE), p.steps).solve(p.lower, p.w, p.Q, start=p.start, tail=0)


def ours(p: Problem) -> Derivatives:
    solution = Descent(GradientDescent(RATE), p.steps).solve(p.lower, p.w, p.Q, start=p.start, tail=None)
    found = Unrolled().hypergradient(p.lower, solution, p.w, p.Q, p.v)
    return found.w, found.Q


def autograd(p: Problem) -> Derivatives:
    net, w, Q = p.net(), p.w.clone().requires_grad_(), p.Q.clone().requires_grad_()
    parameters = dict(net.named_parameters())
    for _ in range(p.steps):
        loss = p.loss(functional_call(net, parameters, (p.lower.X,)), w, Q)
        gradients = torch.autograd.grad(loss, tuple(parameters.values()), create_graph=True)
        moved = zip(parameters.items(), gradients, strict=True)
        parameters = {name: parameter - RATE * g for (name, parameter), g in moved}
    return torch.autograd.grad(parameters_to_vector(parameters.values()), (w, Q), p.v)


def higher(p: Problem) -> Derivatives:
    from higher import innerloop_ctx

    net, w, Q = p.net(), p.w.clone().requires_grad_(), p.Q.clone().requires_grad_()
    with innerloop_ctx(net, torch.optim.SGD(net.parameters(), lr=RATE)) as (unrolled, optimiser):
        for _ in range(p.steps):
            optimiser.step(p.loss(unrolled(p.lower.X), w, Q))
        return torch.autograd.grad(parameters_to_vector(unrolled.parameters()), (w, Q), p.v)


def torchopt(p: Problem) -> Derivatives:
    from torchopt import MetaSGD

    net, w, Q = p.net(), p.w.clone().requires_grad_(), p.Q.clone().requires_grad_()
    optimiser = MetaSGD(net, lr=RATE)
    for _ in range(p.steps):
        optimiser.step(p.loss(net(p.lower.X), w, Q))
    return torch.autograd.grad(parameters_to_vector(net.parameters()), (w, Q), p.v)


WAYS = {"plain": plain, "ours": ours, "autograd": autograd, "higher": higher, "torchopt": torchopt}


def run(*, quick: bool = False) -> Iterator[dict]:
    """All rows; `quick` is a rehearsal with few rows and steps, too small for a memory ratio to mean anything."""
    many, some = (6, 3) if quick else (500, 100)
    rows, images, repeats = (70, 20, 1) if quick else (7000, 1000, 3)
    p = make("network", rows, many)
    name = f"unrolled hypergradient, 784-100-10, n={rows}, T={many}"
    yield compare(f"{name} / its plain steps", partial(ours, p), partial(plain, p), bar=2.7, repeats=repeats)
    yield row(f"{name}: extra memory in MB", [_megabytes("network", rows, many, "ours")], bar=300)
    pairs = [(peer, "network", rows, some) for peer in ("autograd", "higher", "torchopt")]
    for peer, kind, n, steps in [*pairs, ("autograd", "convolutional", images, some)]:
        if peer != "autograd" and find_spec(peer) is None:
            yield row(f"{peer} is not installed: pip install 'safegain[bench]'", [float("nan")], bar=1)
            continue
        yield _time_against(peer, kind, n, steps, repeats=repeats)
        if not quick:
            memory = _megabytes(kind, n, steps, peer) / _megabytes(kind, n, steps, "ours")
            bar = 8 if kind == "network" else 5
            yield row(f"{peer} / ours, {kind}, n={n}, T={steps}: memory", [memory], bar=bar, at_least=True)


def _time_against(peer: str, kind: str, n: int, steps: int, *, repeats: int) -> dict:
    p, theirs = make(kind, n, steps), WAYS[peer]
    exact = make(kind, 50, steps, torch.float64)  # in float32 a rectifier's kink may be met on either side
    for found, expected in zip(ours(exact), theirs(exact), strict=True):
        apart = float((found - expected).norm() / expected.norm())
        if not apart <= 1e-8:
            raise RuntimeError(f"{peer}, {kind}: hypergradients differ by {apart:.1e} of their size")
    name = f"{peer} / ours, {kind}, n={n}, T={steps}: time"
    return compare(name, partial(theirs, p), partial(ours, p), bar=1, repeats=repeats, at_least=True)


def _megabytes(kind: str, n: int, steps: int, way: str) -> float:
    return in_process(__name__, kind, n, steps, way)


def _peak(kind: str, n: str, steps: str, way: str) -> float:
    # What libraries set up once is not the way's: one step of it comes first.
    WAYS[way](make(kind, 2, 1))
    p = make(kind, int(n), int(steps))
    forget_peak()
    before = peak_bytes()
    WAYS[way](p)
    return (peak_bytes() - before) / 1e6


if __name__ == "__main__":
    print(_peak(*sys.argv[1:]))
