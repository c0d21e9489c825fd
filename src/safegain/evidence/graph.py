"""A graph of all rows, labelled or not, and labels that spread over it: rows that lie close together are alike.

    W       exp(-4 |x_i - x_j|^2 / r_i^2) for the NEAREST rows j of i, r_i the distance of the last; then (W + W') / 2
    A       D (1 + damping) - W, with D the row sums of W: positive definite, also where a component has no label
    K       the columns of A^-1 of the rows with a label

    Poisson     argmin_u  1/2 u'Au - sum_i w_i u_i y_i                                  u = K w y
    Laplace     argmin_u  1/2 u'Au + PULL / 2 sum_i w_i d_i (u_i - y_i)^2               u = K c

Laplace's c solves (K_ll + S) c = y on the labelled rows, S = 1 / (PULL w d): kernel ridge regression with the kernel
A^-1. What row i is without its own label follows from both in closed form: u_i - w_i K_ii y_i, and
y_i - c_i / [(K_ll + S)^-1]_ii. Calder, Cook, Thorpe and Slepcev 2020 (arXiv:2006.11184); Zelnik-Manor and Perona 2004.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
import torch

from safegain.data.inputs import Rows
from safegain.learners.kernel import squared_distances

NEAREST = 8
AROUND = 30  # rows that are kept of each, of which the nearest may be others when more is known
VARIANCE = 0.8  # that is kept; the rest of pictures is noise to distances
MOST_COLUMNS = 2000  # of which components are looked for
DAMPINGS = (0.01, 0.03, 0.1)
MOST_SOURCES = 1000  # labels that spread: of more labels, the learners know as much as a graph does
PULL = 10.0  # of a label on its row, in degrees
TOLERANCE, MOST_STEPS = 1e-5, 1000  # of conjugate gradients
BLOCK_ROWS, BLOCK_COLUMNS = 1024, 64


@dataclass(frozen=True)
class Graph:
    W: scipy.sparse.csr_array  # (n, n) symmetric, double precision

    @classmethod
    def of(cls, number: np.ndarray, distance: np.ndarray) -> "Graph":
        """Of the nearest rows of each, nearest first, and their squared distances; rows that are alike are close."""
        number, distance = number[:, :NEAREST], distance[:, :NEAREST]
        n, k = number.shape
        reach = distance[:, -1:].clip(min=np.finfo(np.float64).tiny)
        weight = np.exp(-4 * distance / reach)
        start = np.arange(0, n * k + 1, k)
        W = scipy.sparse.csr_array((weight.ravel(), number.ravel(), start), shape=(n, n))
        return cls(scipy.sparse.csr_array((W + W.T) / 2))

    @cached_property
    def degree(self) -> np.ndarray:
        return np.asarray(self.W.sum(axis=1)).ravel()

    def columns(self, rows: np.ndarray, damping: float, tolerance: float = TOLERANCE) -> np.ndarray:
        """A^-1[:, rows], by conjugate gradients  # (n, m)"""
        found = np.empty((len(self.degree), len(rows)), dtype=np.float64 if tolerance < TOLERANCE else np.float32)
        for first in range(0, len(rows), BLOCK_COLUMNS):
            some = rows[first : first + BLOCK_COLUMNS]
            B = np.zeros((len(found), len(some)))
            B[some, np.arange(len(some))] = 1
            found[:, first : first + len(some)] = self.solve(B, damping, tolerance)
        return found

    def laplace(self, Y: np.ndarray, w: np.ndarray, damping: float) -> np.ndarray:
        """u of all rows, with the labels of all rows of positive weight  # (n, k), (n,)"""
        pull = PULL * w * self.degree
        return self.solve(pull[:, None] * Y, damping, more=pull)

    def solve(
        self, B: np.ndarray, damping: float, tolerance: float = TOLERANCE, more: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """(A + diag(more))^-1 B: conjugate gradients on each column, preconditioned by the diagonal  # (n, m)"""
        degree = ((1 + damping) * self.degree + more)[:, None]
        diagonal = degree - self.W.diagonal()[:, None]
        u, r = np.zeros_like(B), B.copy()
        z = r / diagonal
        p, rz = z.copy(), (r * z).sum(axis=0)
        enough = np.square(tolerance) * np.square(B).sum(axis=0)
        for _ in range(MOST_STEPS):
            going = np.square(r).sum(axis=0) > enough  # a column that is done stays: rounding would move it
            if not going.any():
                break
            Ap = degree * p - self.W @ p
            step = np.where(going, rz / np.where(going, (p * Ap).sum(axis=0), 1), 0)
            u += step * p
            r -= step * Ap
            z = r / diagonal
            before, rz = rz, (r * z).sum(axis=0)
            p = z + np.where(going, rz / np.where(going, before, 1), 0) * p
        return u


@dataclass(frozen=True)
class Spread:
    """What each row hears of each label, for every damping."""

    number: np.ndarray  # (n, AROUND) the rows around each, nearest first
    distance: np.ndarray  # (n, AROUND) squared
    degree: np.ndarray  # (n,)
    sources: np.ndarray  # (m,) numbers of the rows whose labels spread
    columns: tuple[np.ndarray, ...]  # (n, m) each

    @classmethod
    def of(cls, rows: Rows, sources: np.ndarray) -> "Spread":
        """The first of these sources, if they are many."""
        around = neighbours(rows, min(AROUND, rows.shape[0] - 1))
        graph, some = Graph.of(*around), np.sort(sources[:MOST_SOURCES])
        return cls(*around, graph.degree, some, tuple(graph.columns(some, damping) for damping in DAMPINGS))

    def poisson(self, Y: np.ndarray, weight: np.ndarray) -> Iterator[np.ndarray]:
        """u of all rows for every damping, each without its own label; rows of weight 0 have none  # (n, k), (n,)"""
        own = np.flatnonzero(weight[self.sources])
        rows = self.sources[own]
        for columns in self.columns:
            yield poisson(columns[:, own], rows, Y[rows].astype(np.float64), weight[rows])

    def laplace(self, Y: np.ndarray, weight: np.ndarray) -> Iterator[np.ndarray]:
        """The same."""
        own = np.flatnonzero(weight[self.sources])
        rows = self.sources[own]
        for columns in self.columns:
            yield laplace(columns[:, own], rows, Y[rows].astype(np.float64), weight[rows], self.degree)


def views(rows: Rows) -> list[Rows]:
    """The rows, and by their first principal components, where a few of these hold most of the variance."""
    if scipy.sparse.issparse(rows) or rows.shape[1] > MOST_COLUMNS:
        return [rows]
    centred = (rows - rows.mean(dim=0)).double()
    values, vectors = torch.linalg.eigh(centred.T @ centred)
    held = values.flip(0).clamp(min=0).cumsum(0)
    r = int((held < VARIANCE * held[-1]).sum()) + 1
    return [rows] if r > rows.shape[1] // 2 else [rows, (centred @ vectors[:, -r:]).float()]


def neighbours(rows: Rows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest other rows of each, nearest first, and their squared distances, by looking at all  # (n, k) each"""
    n, sparse = rows.shape[0], scipy.sparse.issparse(rows)
    number, distance = np.empty((n, k), dtype=np.int32), np.empty((n, k))
    for first in range(0, n, BLOCK_ROWS):
        block = rows[first : first + BLOCK_ROWS]
        between = squared_distances(block, rows)
        own = torch.arange(len(between))
        between[own, first + own] = torch.inf
        near, found = between.topk(k, dim=1, largest=False)
        if not sparse:  # products round where distances are small
            near = torch.stack([(rows[column] - block).double().square().sum(dim=1) for column in found.T], dim=1)
            near, order = near.sort(dim=1, stable=True)
            found = found.gather(1, order)
        number[first : first + len(own)], distance[first : first + len(own)] = found.numpy(), near.numpy()
    return number, distance


def poisson(K: np.ndarray, sources: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """u of all rows, of the sources without their own label; K (n, m), Y (m, k), w (m,)  # (n, k)"""
    u = K @ (w[:, None] * Y)
    u[sources] -= (w * K[sources, np.arange(len(sources))])[:, None] * Y
    return u


def laplace(K: np.ndarray, sources: np.ndarray, Y: np.ndarray, w: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """The same; `degree` is that of all rows."""
    ridge = K[sources].astype(np.float64) + np.diag(1 / (PULL * w * degree[sources]))
    inverse = np.linalg.inv((ridge + ridge.T) / 2)
    c = inverse @ Y
    u = K @ c
    u[sources] = Y - c / np.diag(inverse)[:, None]
    return u


def shares_drawn(P: np.ndarray, share: np.ndarray, rows: np.ndarray, steps: int = 20) -> np.ndarray:
    """P with a factor for each class, so that on these rows classes have shares halfway from P's own to `share`.

    Not all the way: few labels say how frequent classes are about as well as a graph does  # (n, k)
    """
    found = P[rows]
    factor = np.ones(P.shape[1])
    aim = (share + (found / found.sum(axis=1, keepdims=True)).mean(axis=0)) / 2
    for _ in range(steps):
        factor *= aim / (found / found.sum(axis=1, keepdims=True)).mean(axis=0)
        found = P[rows] * factor
    return P * factor
