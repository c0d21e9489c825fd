"""A list of learners as one."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.huber import Huber
from safegain.learners.linear import Linear
from safegain.learners.module import Module
from safegain.learners.network import Network
from safegain.learners.several import Several
from safegain.learners.wrapped import Wrapped
from tests.learners.soft_rows import sure

MODULE = torch.nn.Linear(2, 2)


def test_variants_are_those_of_all_in_order():
    several = Several([Forest(n_trees=7), Linear(), Boosting()])
    for labels, classifies in product(("raw", "corrected", "trusted"), (True, False)):
        found = several.variants(labels, 9, classifies=classifies)
        assert found == tuple(v for each in several.learners for v in each.variants(labels, 9, classifies=classifies))
    assert len(several.variants("raw", 9, classifies=True)) > 3
    assert several.cost(1000, 10, 3) == pytest.approx(sum(each.cost(1000, 10, 3) for each in several.learners))


def test_what_it_takes():
    assert Several([Linear(), Wrapped(LogisticRegression())]).takes_sparse
    assert not Several([Network(), Linear()]).takes_sparse
    assert Several([Module(MODULE), Wrapped(LogisticRegression())]).takes_arrays
    assert not Several([Module(MODULE), Linear()]).takes_arrays
    assert Several([Forest(), Boosting()]).takes_gaps
    assert not Several([Forest(), Linear()]).takes_gaps
    assert Several([Network(), Wrapped(LogisticRegression())]).takes_weight
    assert not Several([Network(), Wrapped(KNeighborsClassifier())]).takes_weight
    with pytest.raises(ValueError, match="model: must be a classifier, got Ridge"):
        Several([Linear(), Wrapped(Ridge())]).check_task(classifies=True)
    with pytest.raises(ValueError, match="model: 'huber' is for numbers; PGSClassifier takes 'linear'"):
        Several([Linear(), Huber()]).check_task(classifies=True)
    Several([Linear(), Network()]).check_task(classifies=True)
    Several([Linear(), Huber(), Wrapped(Ridge())]).check_task(classifies=False)


def test_those_that_take_the_rows_are_left_where_that_is_asked_for():
    sparse, dense = scipy.sparse.csr_array(np.eye(3)), np.eye(3)
    some = Several([Forest(), Linear(), Network()], only_fitting=True)
    assert some.takes_sparse
    assert not Several([Forest()], only_fitting=True).takes_sparse
    assert some.for_rows(dense) == some
    assert some.for_rows(sparse).learners == [Linear()]
    every = Several([Forest(), Linear()])
    assert every.for_rows(sparse) is every
    assert Linear().for_rows(sparse) == Linear()


def test_open_seeds_are_settled():
    trees = Wrapped(ExtraTreesClassifier(3))
    seeded = Several([Linear(), trees]).seeded(np.random.RandomState(0))
    assert seeded.learners[0] == Linear()
    assert isinstance(seeded.learners[1].estimator.random_state, int)
    assert trees.estimator.random_state is None


def test_the_first_one_is_trained_where_nobody_chooses():
    X, target = sure(60)
    found = Several([Forest(n_trees=3), Linear()]).train(X, target, 4).predict_proba(X)
    np.testing.assert_array_equal(found, Forest(n_trees=3).train(X, target, 4).predict_proba(X))


@pytest.mark.parametrize("wrong", [[], [Linear(), "forest"], [Ridge()]])
def test_a_list_of_other_things_is_refused(wrong):
    with pytest.raises(ValueError, match="Several: learners must be a list of learners, at least one, got"):
        Several(wrong)
