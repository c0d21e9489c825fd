import numpy as np
import pytest

from safegain.learners import threads
from safegain.learners.forest import Forest
from safegain.learners.leaves import leaf_means
from safegain.learners.target import Target
from tests.learners.soft_rows import CLASSES, numbers, soft

FOREST = Forest(n_trees=30, min_samples_leaf=3, bootstrap=True)


def test_means_of_leaves_by_hand():
    target = Target(np.array([1.0, 3.0, 10.0, 5.0]), None, np.array([1.0, 1.0, 1.0, 2.0]))
    means = leaf_means(np.array([0, 0, 0, 2]), np.array([1, 3, 0, 1]), target, 3)
    assert means[:, 0] == pytest.approx([2.5, (1 + 3 + 10 + 10) / 5, 5])  # the second is empty


@pytest.mark.parametrize("made", [soft, numbers])
def test_out_of_bag_rows_are_predicted_by_the_other_trees(made):
    X, target = made(150, weighted=True)
    leaves = FOREST.grow(X, target, 0)
    assert 0.3 < (leaves.counts == 0).mean() < 0.44  # e^-1 is .37
    other = made(150, seed=4, weighted=True)[1]
    found = leaves.out_of_bag(other)
    for row in range(0, 150, 7):
        said = []
        for leaf, counts in zip(leaves.leaf, leaves.counts, strict=True):
            mates = leaf == leaf[row]
            if counts[row] == 0:
                said.append(np.average(other.table[mates], axis=0, weights=(counts * other.weights)[mates]))
        assert found[row] == pytest.approx(np.mean(said, axis=0), rel=1e-4)


def test_a_row_that_all_trees_have_seen_gets_the_mean():
    X, target = soft(40)
    found = Forest(n_trees=2).grow(X, target, 0).out_of_bag(target)
    assert found == pytest.approx(np.tile(target.mean, (40, 1)), rel=1e-5)


@pytest.mark.parametrize("made", [soft, numbers])
def test_filling_grown_trees_is_training(made):
    X, target = made(200, weighted=True)
    one, two = FOREST.grow(X, target, 3).forest(target), FOREST.train(X, target, 3)
    for name, array in two.state()[1].items():
        assert np.array_equal(one.state()[1][name], array), name


def test_the_same_trees_with_another_target():
    X, target = soft(300)
    turned = Target(target.values[:, ::-1].copy(), CLASSES)
    leaves = FOREST.grow(X, target, 0)
    same = leaves.forest(target).predict_proba(X)
    assert leaves.forest(turned).predict_proba(X) == pytest.approx(same[:, ::-1], abs=1e-4)


def test_merged_leaves_hold_more_rows_and_their_means():
    X, target = soft(400)
    leaves = Forest(n_trees=10, min_samples_leaf=1, bootstrap=True).grow(X, target, 0)
    larger = leaves.merged(8)
    smallest = min(np.bincount(leaf[counts > 0]).min() for leaf, counts in zip(larger.leaf, larger.counts, strict=True))
    assert smallest >= 8
    assert larger.trees.n_leaves < leaves.trees.n_leaves / 4
    numbers = larger.trees.leaf_numbers
    for tree, compiled in enumerate(larger.trees.compiled(4)):
        first = larger.trees.firsts[tree]
        own = numbers[first + compiled.apply(X.astype(np.float32))] - numbers[first]
        assert np.array_equal(own, larger.leaf[tree])


def test_threads_do_not_matter(monkeypatch):
    X, target = numbers(300)
    one = FOREST.grow(X, target, 0).out_of_bag(target)
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    assert np.array_equal(FOREST.grow(X, target, 0).out_of_bag(target), one)
