"""From what a user writes as `model` to a learner."""

import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safegain.estimators.parameters import CLASS_FAMILIES, LEARNERS, NUMBER_FAMILIES, learner_of
from safegain.learners.boosting import Boosting
from safegain.learners.deep_network import DeepNetwork
from safegain.learners.forest import Forest
from safegain.learners.huber import Huber
from safegain.learners.kernel_machine import KernelMachine
from safegain.learners.linear import Linear
from safegain.learners.module import Module
from safegain.learners.network import Network
from safegain.learners.several import Several
from safegain.learners.wrapped import Wrapped
from safegain.search.auto import Auto
from safegain.search.free import Free
from safegain.search.structured import Structured

MODULE = torch.nn.Linear(2, 2)
CLASSIFIER = LogisticRegression()
ALL = Several([Forest(), KernelMachine(), Boosting(), DeepNetwork(), Network(), Linear()], only_fitting=True)

ALL_OF_NUMBERS = Several([Boosting(), Forest(), KernelMachine(), DeepNetwork(), Huber(), Linear()], only_fitting=True)


def learner(model, search=None, *, classifies=True):
    return learner_of(model, classifies=classifies, search=search or Auto())


@pytest.mark.parametrize(
    ("model", "classes", "numbers"),
    [
        ("auto", ALL, ALL_OF_NUMBERS),
        ("network", Network(), Network()),
        ("linear", Linear(), Linear()),
        (Network(n_hidden=3), Network(n_hidden=3), Network(n_hidden=3)),
        (MODULE, Module(MODULE), Module(MODULE)),
        (Module(MODULE, alpha=1.0), Module(MODULE, alpha=1.0), Module(MODULE, alpha=1.0)),
    ],
)
def test_what_it_stands_for(model, classes, numbers):
    assert learner(model) == classes
    assert learner(model, classifies=False) == numbers


@pytest.mark.parametrize("search", [Free(), Structured()])
def test_searches_without_a_contest_take_a_network(search):
    assert learner("auto", search) == Network()
    assert learner("auto", search, classifies=False) == Linear()


def test_a_list_may_hold_anything_that_stands_for_a_learner():
    found = learner(["linear", Forest(n_trees=3), CLASSIFIER, "auto"])
    assert found == Several([Linear(), Forest(n_trees=3), Wrapped(CLASSIFIER), ALL])
    with pytest.raises(ValueError, match="model: the list is empty; name at least one learner"):
        learner([])


def test_every_name_is_known():
    families = [Network(), Linear(), Forest(), Boosting(), KernelMachine(), DeepNetwork(), Huber()]
    assert [learner(name, classifies=False) for name in LEARNERS] == families
    assert {*CLASS_FAMILIES, *NUMBER_FAMILIES} == set(LEARNERS)
    with pytest.raises(ValueError, match="model: 'huber' is for numbers"):
        learner("huber")


def test_estimators_are_wrapped_for_their_own_task():
    assert learner(CLASSIFIER) == Wrapped(CLASSIFIER)
    assert isinstance(learner(make_pipeline(StandardScaler(), Ridge()), classifies=False), Wrapped)
    for model in (Ridge(), Wrapped(Ridge())):
        with pytest.raises(
            ValueError, match=r"model: must be a classifier, got Ridge\(\); PGSRegressor takes the others"
        ):
            learner(model)
    with pytest.raises(
        ValueError, match=r"model: must be a regressor, got LogisticRegression.*; PGSClassifier takes the"
    ):
        learner(CLASSIFIER, classifies=False)
    with pytest.raises(ValueError, match="model: must be a regressor, got KMeans"):
        learner(KMeans(), classifies=False)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "softmax",
            "model: 'softmax' is not known; give one of auto, network, linear, forest, boosting, kernel, deep",
        ),
        (
            None,
            "model: must be one of auto, network, linear, .* deep, huber, a learner, .* got None",
        ),
        (LogisticRegression, "model: must be one of auto, network, linear"),
        (StandardScaler(), "model: must be one of auto, network, linear, .* got StandardScaler"),
    ],
)
def test_what_stands_for_nothing_is_named(model, message):
    with pytest.raises(ValueError, match=message):
        learner(model)
