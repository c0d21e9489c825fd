"""The posterior as a search space: its points, its gradients, and the competitors that it holds."""

import numpy as np
import pytest
import torch

from safegain.evidence.channel import Channel, Evidence, posterior
from safegain.search.posterior_space import Posterior
from tests.search.samples import made


def space(n=20, k=3, *, eps1=0.0, eps2=1.0, missing=False, seed=0):
    rng = np.random.RandomState(seed)
    y = rng.randint(k, size=n)
    if missing:
        y[::3] = -1
    T = torch.from_numpy(rng.dirichlet(np.ones(k), size=k))
    return Posterior(torch.from_numpy(np.log(rng.dirichlet(np.ones(k), size=n))), T, torch.from_numpy(y), eps1, eps2)


ANY = torch.tensor([0.3, -0.7, 0.4, 1.2], dtype=torch.float64)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("eps1", "eps2"), [(0.0, 1.0), (17.0, 0.1)])  # inside, and at both limits
def test_hypergradients_are_pulled_back_to_the_few_unknowns(missing, eps1, eps2):
    own = space(eps1=eps1, eps2=eps2, missing=missing)
    gw, gQ = made((20,), 1), made((20, 3), 2)
    flat = torch.cat([ANY, made((9,), 3)])

    def value(v):
        point = own.point((v[:4], v[4:].view(3, 3)))
        return float(point.w @ gw + (point.Q * gQ).sum())

    pulled = own.pull((flat[:4], flat[4:].view(3, 3)), gw, gQ)
    steps = 1e-6 * torch.eye(13, dtype=torch.float64)
    expected = [(value(flat + h) - value(flat - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(torch.cat([part.flatten() for part in pulled]), expected, rtol=1e-5, atol=1e-8)
    assert np.abs(expected).max() > 0.1


def test_every_point_is_feasible():
    for eps1, eps2, missing in ((0.0, 1.0, False), (19.9, 0.0, False), (20.0, 1e-3, False), (15.0, 0.3, True)):
        own = space(eps1=eps1, eps2=eps2, missing=missing)
        light = moved = 0  # points at the limit of either constraint
        for seed in range(60):
            parameters = 4 * made((4,), seed), 4 * made((3, 3), seed + 100)
            point = own.point(parameters)
            assert own.violation(point) <= 1e-9
            assert all(torch.equal(a, b) for a, b in zip(own.project(parameters), parameters, strict=True))
            light += bool(abs(point.w.sum() - eps1) < 1e-9)
            moved += bool(abs((1 - point.Q[torch.arange(20), own.y]).mean() - eps2) < 1e-9)
        assert light > 10 or eps1 == 0
        assert missing or (moved == 0 if eps2 == 1 else moved > 10)
    point = space().point((ANY, made((3, 3))))
    assert space(eps1=19.0).violation(point) > 0.1  # in rows, of each row
    assert space(eps2=0.01).violation(point) > 0.1


def test_competitors_are_points():
    own = space()
    given, rows, p = torch.eye(3, dtype=torch.float64)[own.y], torch.arange(20), own.log_p.exp()

    def at(log_scale=0.0, mix=-60.0, level=60.0, slope=0.0, log_T=None):
        numbers = torch.tensor([log_scale, mix, level, slope], dtype=torch.float64)
        return own.point((numbers, own.transition.log() if log_T is None else log_T))

    raw = at(mix=60.0)
    np.testing.assert_allclose(raw.Q, given, atol=1e-12)
    np.testing.assert_allclose(raw.w, 1, atol=1e-12)
    q = posterior(own.log_p, own.transition.T[own.y])  # a transition matrix
    np.testing.assert_allclose(at().Q, q, atol=1e-12)
    flat = torch.zeros(3, 3, dtype=torch.float64)
    np.testing.assert_allclose(at(mix=0.0, log_T=flat).Q, (given + p) / 2, atol=1e-12)  # REED
    np.testing.assert_allclose(at(log_scale=np.log(2), log_T=flat).Q, p**2 / (p**2).sum(dim=1, keepdim=True))
    np.testing.assert_allclose(at(level=0.0, slope=1.0).w, torch.sigmoid(q[rows, own.y].log()))  # by its label's odds
    bare = space(missing=True)
    without, at_half = bare.y < 0, torch.tensor([0.0, 0.0, 1.5, 2.0], dtype=torch.float64)
    point = bare.point((at_half, bare.transition.log()))
    np.testing.assert_allclose(point.Q[without], bare.log_p[without].exp(), rtol=1e-12)
    np.testing.assert_allclose(point.w[without], torch.sigmoid(torch.tensor(1.5, dtype=torch.float64)))
    start = own.point(own.start())
    np.testing.assert_allclose(start.Q, q, atol=0.02)
    assert float(start.w.min()) > 0.98


def test_it_is_made_of_the_evidence_of_the_first_rows():
    """Its unknowns have one matrix for all rows, in the precision of the model."""
    own = space()
    T, near = own.transition.float(), torch.full((20,), 0.5, dtype=torch.float64)
    evidence = Evidence(own.log_p.float(), Channel(T, 0.3), near, own.log_p.exp().float())
    found = Posterior.of(evidence, own.y[:15], torch.float64, eps1=2.0, eps2=0.5)
    assert torch.equal(found.log_p, own.log_p.float()[:15].double())
    assert torch.equal(found.transition, T.double())
    assert torch.equal(found.y, own.y[:15])
    assert (found.eps1, found.eps2) == (2.0, 0.5)
