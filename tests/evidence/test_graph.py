"""Graphs and labels that spread: against dense solutions, and on rows that are hard for graphs."""

import numpy as np
import pytest
import scipy.sparse
import torch

from safegain.evidence import graph
from safegain.evidence.graph import Graph, Spread, laplace, neighbours, poisson, shares_drawn, views

N, M, K = 120, 15, 3


def rows_of(n=N, d=4, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, d))).float()


def graph_of(rows):
    return Graph.of(*neighbours(rows, min(graph.AROUND, len(rows) - 1)))


def dense(G, damping, more=0.0):
    W = G.W.toarray()
    return np.diag((1 + damping) * W.sum(axis=1) + more) - W


@pytest.fixture(scope="module")
def labelled():
    random = np.random.default_rng(1)
    G = graph_of(rows_of())
    sources = np.sort(random.permutation(N)[:M])
    return G, sources, np.eye(K)[random.integers(K, size=M)], random.random(M) + 0.5


def test_neighbours_are_those_of_all_distances():
    X = rows_of(2000, 3)  # more than one block
    number, distance = neighbours(X, 5)
    some = [0, 1023, 1024, 1999]
    exact = (X[some, None].double() - X[None].double()).square().sum(dim=2).numpy()
    exact[np.arange(4), some] = np.inf
    np.testing.assert_array_equal(number[some], np.argsort(exact, axis=1)[:, :5])
    np.testing.assert_allclose(distance[some], np.sort(exact, axis=1)[:, :5], atol=1e-12)


def test_sparse_rows_have_the_same_neighbours():
    X = rows_of()
    number, distance = neighbours(scipy.sparse.csr_array(X.numpy()), 5)
    exact = neighbours(X, 5)
    np.testing.assert_array_equal(number, exact[0])
    np.testing.assert_allclose(distance, exact[1], rtol=1e-4)


def test_weights_are_symmetric_and_fall_with_the_distance_in_units_of_the_row():
    X = rows_of()
    W, (number, distance) = graph_of(X).W.toarray(), neighbours(X, graph.NEAREST)
    np.testing.assert_array_equal(W, W.T)
    one_way = np.zeros((N, N))
    one_way[np.arange(N)[:, None], number] = np.exp(-4 * distance / distance[:, -1:])
    np.testing.assert_allclose(W, (one_way + one_way.T) / 2)
    np.testing.assert_allclose(graph_of(100 * X).W.toarray(), W, rtol=1e-4)


@pytest.mark.parametrize("damping", [0.01, 0.1])
def test_solutions_are_those_of_a_dense_oracle(labelled, damping):
    G, sources, Y, w = labelled
    inverse = np.linalg.inv(dense(G, damping))
    np.testing.assert_allclose(G.columns(sources, damping, 1e-12), inverse[:, sources], atol=1e-8)
    weight, values = np.zeros(N), np.zeros((N, K))
    weight[sources], values[sources] = w, Y
    pull = graph.PULL * weight * G.degree
    exact = np.linalg.solve(dense(G, damping, pull), pull[:, None] * values)
    np.testing.assert_allclose(G.solve(pull[:, None] * values, damping, 1e-12, more=pull), exact, atol=1e-8)
    np.testing.assert_allclose(G.laplace(values, weight, damping), exact, atol=1e-3)


@pytest.mark.parametrize("kind", ["poisson", "laplace"])
def test_every_row_is_what_a_dense_solution_without_its_label_says(labelled, kind):
    G, sources, Y, w = labelled
    columns = G.columns(sources, 0.03, 1e-13)
    found = poisson(columns, sources, Y, w) if kind == "poisson" else laplace(columns, sources, Y, w, G.degree)

    def solved(without=None):
        weight, values = np.zeros(N), np.zeros((N, K))
        weight[sources], values[sources] = w, Y
        if without is not None:
            weight[without] = 0
        if kind == "poisson":
            return np.linalg.solve(dense(G, 0.03), weight[:, None] * values)
        pull = graph.PULL * weight * G.degree
        return np.linalg.solve(dense(G, 0.03, pull), pull[:, None] * values)

    others = np.setdiff1d(np.arange(N), sources)
    np.testing.assert_allclose(found[others], solved()[others], atol=1e-8)
    for row in sources:
        np.testing.assert_allclose(found[row], solved(without=row)[row], atol=1e-8)


def test_solutions_minimise_what_the_docstring_says(labelled):
    G, sources, Y, w = labelled
    weight, y = np.zeros(N), np.zeros(N)
    weight[sources], y[sources] = w, Y[:, 0]
    A, degree = dense(G, 0.03), G.degree

    def smooth(u):
        return u @ A @ u / 2 + graph.PULL / 2 * (weight * degree * (u - y) ** 2).sum()

    u = G.solve((graph.PULL * weight * degree * y)[:, None], 0.03, 1e-12, more=graph.PULL * weight * degree)[:, 0]
    for direction in np.eye(N)[::17]:
        step = 1e-4 * direction
        assert abs(smooth(u + step) - smooth(u - step)) / 2e-4 < 1e-6


def test_duplicates_constant_columns_and_hundreds_of_components_give_finite_labels():
    random = np.random.default_rng(0)
    centres = 1e3 * random.normal(size=(150, 2))
    X = np.repeat(centres, 12, axis=0) + 1e-3 * random.normal(size=(1800, 2))
    X[:600] = np.repeat(centres[:50], 12, axis=0)  # all alike: every distance is zero
    X = torch.from_numpy(np.column_stack([X, np.ones(1800)])).float()
    G = graph_of(X)
    assert scipy.sparse.csgraph.connected_components(G.W)[0] > 100
    spread = Spread.of(X, np.arange(0, 1800, 24))
    weight, Y = np.zeros(1800), np.zeros((1800, 2))
    weight[::24], Y[::24, 0], Y[::48] = 1, 1, [0, 1]
    for u in (*spread.poisson(Y, weight), *spread.laplace(Y, weight)):
        assert np.isfinite(u).all()
        own, bare = u[1::24], u[12::24]  # a neighbour in the component of a label; a component without one
        np.testing.assert_array_equal(own.argmax(axis=1), Y[::24].argmax(axis=1))
        assert np.abs(bare).max() < 1e-6


def test_no_more_labels_spread_than_are_worth_it(monkeypatch):
    monkeypatch.setattr(graph, "MOST_SOURCES", 5)
    assert Spread.of(rows_of(), np.array([40, 3, 7, 99, 5, 8, 9])).sources.tolist() == [3, 5, 7, 40, 99]


def test_classes_are_drawn_halfway_to_their_shares():
    P = np.random.default_rng(0).dirichlet([1, 2, 3], size=500)
    share = np.array([0.5, 0.3, 0.2])
    found = shares_drawn(P, share, np.arange(400))
    found /= found.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[:400].mean(axis=0), (share + P[:400].mean(axis=0)) / 2, atol=1e-6)
    factor = found / P
    np.testing.assert_allclose(factor[:, 0] / factor[:, 1], factor[0, 0] / factor[0, 1])  # one for each class


def test_a_second_view_where_few_components_hold_most_of_the_variance():
    random = np.random.default_rng(0)
    flat = torch.from_numpy(random.normal(size=(300, 2)) @ random.normal(size=(2, 20)) * 5).float()
    found = views(flat + 0.1 * rows_of(300, 20))
    assert [view.shape[1] for view in found] == [20, 2]
    between = torch.cdist(found[1], found[1])
    np.testing.assert_allclose(between, torch.cdist(flat, flat), atol=2)  # noise is gone, distances are not
    assert len(views(rows_of(300, 20))) == 1
    assert len(views(scipy.sparse.csr_array(flat.numpy()))) == 1
    assert len(views(torch.ones(30, 6))) <= 2  # constant columns
