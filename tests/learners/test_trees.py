from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from safegain.learners.trees import Trees, tree_rows
from tests.learners.soft_rows import numbers


def grown(n=300, kind=DecisionTreeRegressor, gaps=False, **settings):
    X, target = numbers(n)
    X = tree_rows(X)
    if gaps:
        X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    return X, [kind(random_state=seed, max_features=2, **settings).fit(X, target.values).tree_ for seed in range(3)]


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, ExtraTreeRegressor])
@pytest.mark.parametrize("gaps", [False, True])
def test_rows_fall_into_the_leaves_of_scikit_learns_own_trees(kind, gaps):
    X, compiled = grown(kind=kind, gaps=gaps)
    trees = Trees.joined([Trees.of(tree) for tree in compiled]).checked(4)
    fresh = tree_rows(numbers(500, seed=9)[0])
    fresh[:100, 0] = np.nan
    for rows in (X, fresh):  # the training rows lie closest to the thresholds
        for ours, theirs in zip(trees.compiled(4), compiled, strict=True):
            assert np.array_equal(ours.apply(rows), theirs.apply(rows))
    assert trees.n_leaves == sum(tree.n_leaves for tree in compiled)


def test_leaves_are_numbered_over_all_trees():
    _, compiled = grown()
    trees = Trees.joined([Trees.of(tree) for tree in compiled])
    leaves = [
        np.flatnonzero(tree.children_left < 0) + first for tree, first in zip(compiled, trees.firsts, strict=False)
    ]
    assert trees.leaf_numbers[np.concatenate(leaves)].tolist() == list(range(trees.n_leaves))


def test_thresholds_between_two_single_numbers_are_rounded_down():
    X = (1 + np.arange(4) * 2.0**-23).astype(np.float32)[:, None]  # neighbours; the threshold is half-way
    tree = DecisionTreeRegressor().fit(X[[0, 3]], [0, 1]).tree_
    ours = Trees.of(tree).compiled(1)[0]
    assert ours.apply(X).tolist() == tree.apply(X).tolist() == [1, 1, 2, 2]


def merged_by_hand(tree, counts, least, node=0):
    """The leaves below a node after merging, each as the set of leaves that it was; counts by node."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return [{node}]
    sides = [set().union(*merged_by_hand(tree, counts, 0, child)) for child in (left, right)]
    if min(sum(counts[leaf] for leaf in side) for side in sides) < least:
        return [sides[0] | sides[1]]
    return merged_by_hand(tree, counts, least, left) + merged_by_hand(tree, counts, least, right)


def test_merging_leaves_drops_splits_with_a_small_side():
    X, compiled = grown(200)
    trees = Trees.joined([Trees.of(tree) for tree in compiled])
    random = np.random.default_rng(0)
    counts = random.integers(0, 4, trees.n_leaves)
    fewer, number = trees.merged(counts, 7)
    fewer.checked(4)
    place = 0
    for tree, ours, theirs in zip(compiled, fewer.compiled(4), trees.compiled(4), strict=True):
        leaves = np.flatnonzero(tree.children_left < 0)
        of_node = dict(zip(leaves, counts[place : place + len(leaves)], strict=True))
        wanted = {frozenset(each) for each in merged_by_hand(tree, of_node, 7)}
        now = number[place : place + len(leaves)]
        assert {frozenset(leaves[now == each]) for each in np.unique(now)} == wanted
        place += len(leaves)
        groups = {tuple(pair) for pair in zip(ours.apply(X), theirs.apply(X), strict=True)}
        assert len({new for new, _ in groups}) <= len(wanted) < len(leaves)
    rows = fewer.leaf_numbers[
        np.concatenate([t.apply(X) + f for t, f in zip(fewer.compiled(4), fewer.firsts, strict=False)])
    ]
    before = trees.leaf_numbers[
        np.concatenate([t.apply(X) + f for t, f in zip(trees.compiled(4), trees.firsts, strict=False)])
    ]
    assert np.array_equal(number[before], rows)


def test_rows_become_single_numbers_and_stay_as_they_were():
    X = np.array([[1e300, -1e300, np.nan, 0.1]])
    found = tree_rows(X)
    assert found[0, :2].tolist() == [np.finfo(np.float32).max, np.finfo(np.float32).min]
    assert np.isnan(found[0, 2])
    assert X[0, 0] == 1e300


def changed(array, place, value):
    array = array.copy()
    array[place] = value
    return array


DAMAGE = {
    "a tree without nodes": lambda t: replace(t, sizes=changed(t.sizes, 0, 0)),
    "a size too large": lambda t: replace(t, sizes=changed(t.sizes, 0, 2**31 - 1)),
    "a negative size": lambda t: replace(t, sizes=changed(t.sizes, 0, -5)),
    "no trees": lambda t: replace(t, sizes=t.sizes[:0]),
    "a child that is its parent": lambda t: replace(t, right=changed(t.right, 3, 3)),
    "a child above": lambda t: replace(t, right=changed(t.right, 0, -1)),
    "both children the same": lambda t: replace(t, right=changed(t.right, 0, 1)),
    "a child of another tree": lambda t: replace(t, right=changed(t.right, 0, t.sizes[0])),
    "an inner node as the last": lambda t: replace(t, right=changed(t.right, t.sizes[0] - 1, t.sizes[0])),
    "a column beyond": lambda t: replace(t, feature=changed(t.feature, 0, 4)),
    "a negative column": lambda t: replace(t, feature=changed(t.feature, 0, -2)),
    "NaN": lambda t: replace(t, threshold=changed(t.threshold, 0, np.nan)),
    "fewer thresholds": lambda t: replace(t, threshold=t.threshold[1:]),
    "fewer gaps": lambda t: replace(t, gaps_left=t.gaps_left[1:]),
    "other numbers": lambda t: replace(t, right=t.right.astype(np.int64)),
    "a table": lambda t: replace(t, right=t.right[:, None]),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_trees_are_refused(damage):
    _, compiled = grown()
    with pytest.raises(ValueError, match=r"tree|node|column|threshold"):
        damage(Trees.joined([Trees.of(tree) for tree in compiled])).checked(4)
