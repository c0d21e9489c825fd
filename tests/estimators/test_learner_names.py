"""From what a user writes as `model` to a learner."""

import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safegain.estimators.parameters import LEARNERS, learner_of
from safegain.learners.boosting import Boosting
from safegain.learners.forest import Forest
from safegain.learners.kernel_machine import KernelMachine
from safegain.learners.linear import Linear
from safegain.learners.module import Module
from safegain.learners.network import Network
from safegain.learners.wrapped import Wrapped

MODULE = torch.nn.Linear(2, 2)
CLASSIFIER = LogisticRegression()


@pytest.mark.parametrize(
    ("model", "classes", "numbers"),
    [
        ("auto", Network(), Linear()),
        ("network", Network(), Network()),
        ("linear", Linear(), Linear()),
        (Network(n_hidden=3), Network(n_hidden=3), Network(n_hidden=3)),
        (MODULE, Module(MODULE), Module(MODULE)),
        (Module(MODULE, alpha=1.0), Module(MODULE, alpha=1.0), Module(MODULE, alpha=1.0)),
    ],
)
def test_what_it_stands_for(model, classes, numbers):
    assert learner_of(model, classifies=True) == classes
    assert learner_of(model, classifies=False) == numbers


def test_every_name_is_known():
    known = [Network(), Network(), Linear(), Forest(), Boosting(), KernelMachine()]
    assert [learner_of(name, classifies=True) for name in ("auto", *LEARNERS)] == known


def test_estimators_are_wrapped_for_their_own_task():
    assert learner_of(CLASSIFIER, classifies=True) == Wrapped(CLASSIFIER)
    assert isinstance(learner_of(make_pipeline(StandardScaler(), Ridge()), classifies=False), Wrapped)
    for model in (Ridge(), Wrapped(Ridge())):
        with pytest.raises(
            ValueError, match=r"model: must be a classifier, got Ridge\(\); PGSRegressor takes the others"
        ):
            learner_of(model, classifies=True)
    with pytest.raises(
        ValueError, match=r"model: must be a regressor, got LogisticRegression.*; PGSClassifier takes the"
    ):
        learner_of(CLASSIFIER, classifies=False)
    with pytest.raises(ValueError, match="model: must be a regressor, got KMeans"):
        learner_of(KMeans(), classifies=False)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "softmax",
            "model: 'softmax' is not known; give one of auto, best, network, linear, forest, boosting, kernel",
        ),
        (None, "model: must be one of auto, best, network, linear, forest, boosting, kernel, a learner, .* got None"),
        (LogisticRegression, "model: must be one of auto, best, network, linear"),
        (StandardScaler(), "model: must be one of auto, best, network, linear, .* got StandardScaler"),
    ],
)
def test_what_stands_for_nothing_is_named(model, message):
    with pytest.raises(ValueError, match=message):
        learner_of(model, classifies=True)
