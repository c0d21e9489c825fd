"""What candidates may train on: rows by the kind of labels, in one order, with the user's weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from safegain import Linear, Wrapped
from safegain.data.any_rows import AnyRows
from safegain.data.parts import Part, Parts
from safegain.evidence.pooled import TRUST
from safegain.learners.target import Target
from safegain.search.candidates import CORRECTED
from safegain.search.folds import Fold
from safegain.search.material import Material
from tests.search.samples import of_classes

CLASSES = np.array(["a", "b"])


def parts():
    X = np.arange(14.0).reshape(7, 2)
    weak = Part(X[:4], torch.tensor([0, 1, -1, 0]), weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    search = Part(X[4:6], torch.tensor([1, 0]), given=torch.tensor([0, -1]), weight=torch.tensor([5.0, 6.0]))
    held = Part(X[6:], torch.tensor([1]), given=torch.tensor([1]), weight=torch.tensor([7.0]))
    return Parts(weak, search, held, CLASSES)


Q = torch.arange(14.0).reshape(7, 2) / 14


def fold_of(rows):
    """Without the last weak row, and the held-out ones."""
    none = torch.zeros_like(rows.weak)
    return Fold(rows.weak & (torch.arange(7) != 3), rows.search, none, none)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [("raw", [0, 1]), ("raw+trusted", [0, 1, 4, 5]), ("trusted", [4, 5]), (CORRECTED, [0, 1, 2, 4, 5])],
)
def test_rows_of_each_kind_of_labels(labels, expected):
    material = Material.of(parts(), Linear())
    trust = np.where(material.rows.trusted, TRUST, 1)
    rows, target = material.training(labels, fold_of(material.rows), Target(Q.numpy(), CLASSES, trust))
    assert rows.tolist() == expected
    values = Q[rows].numpy() if labels == CORRECTED else np.eye(2)[material.y[rows]]
    np.testing.assert_allclose(target.values, values)
    np.testing.assert_array_equal(target.weight, (rows + 1) * (trust[rows] if labels == CORRECTED else 1))
    assert target.classes is CLASSES


def test_pairs_of_given_and_right_labels():
    material = Material.of(parts(), Linear())
    assert material.pairs(material.rows.search).tolist() == [[0, 0], [1, 0]]
    assert material.pairs(material.rows.trusted).tolist() == [[0, 0], [1, 1]]
    plain = parts()
    unknown = replace(plain, search=replace(plain.search, given=None), held_out=None)
    assert Material.of(unknown, Linear()).pairs(material.rows.search) is None


def test_pairs_outside_the_sample_do_not_count():
    plain = parts()
    some = replace(plain, search=replace(plain.search, sample=torch.tensor([False, True])))
    material = Material.of(some, Linear())
    assert material.pairs(material.rows.trusted).tolist() == [[0, 0], [0, 1]]


def test_an_estimator_gets_rows_in_the_order_of_the_user():
    whole, numbers = np.arange(14.0).reshape(7, 2), np.array([6, 0, 2, 5, 1, 4, 3])
    plain = parts()
    given = [AnyRows(whole, part) for part in (numbers[:4], numbers[4:6], numbers[6:])]
    mixed = replace(
        plain,
        weak=replace(plain.weak, X=given[0]),
        search=replace(plain.search, X=given[1]),
        held_out=replace(plain.held_out, X=given[2]),
    )
    from sklearn.linear_model import LogisticRegression

    material = Material.of(mixed, Wrapped(LogisticRegression()))
    assert material.X.numbers.tolist() == list(range(7))
    # Row 0 was the second weak one, row 1 the first of the search, and so on.
    assert material.y.tolist() == [1, 1, -1, 1, 0, 0, 0]
    assert material.weight.tolist() == [2.0, 5.0, 3.0, 7.0, 6.0, 4.0, 1.0]
    assert material.given.tolist() == [-1, 0, -1, 1, -1, -1, -1]
    assert torch.equal(material.rows.weak, torch.tensor([1, 0, 1, 0, 0, 1, 1]).bool())


def test_labels_that_spread_are_drawn_by_chance(monkeypatch):
    """Of rows in the order of their classes, all classes are heard."""
    X, y = np.random.RandomState(0).normal(size=(300, 3)), np.repeat(np.arange(4), 75)
    trusted = np.arange(300) % 2 == 0
    found = of_classes(X, np.where(trusted, y, -1), trusted, np.zeros_like(trusted), learner=Linear())
    monkeypatch.setattr("safegain.evidence.graph.MOST_SOURCES", 40)
    made = Material.of(found.parts, Linear())
    assert set(made.y[made.graphs.spreads[0].sources].tolist()) == {0, 1, 2, 3}
