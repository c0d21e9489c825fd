"""A network's gain is stored with its sizes, and no network is without one."""

import msgspec
import numpy as np
import pytest
import torch

from safegain.bilevel.models import TwoLayer
from safegain.data.inputs import Inputs
from safegain.data.labels import classification_labels
from safegain.learners.trained import TrainedModel
from safegain.runs.facts import Architecture
from safegain.runs.model_state import models_from_state, models_to_state


def stored(gain):
    labels, model = classification_labels(np.array([0, 1, 2])), TwoLayer(4, 5, 3, dtype=torch.float64, gain=gain)
    trained = TrainedModel(
        Inputs(False, torch.float64, None, None), model, model.init(torch.Generator()), labels.classes
    )
    return trained, labels, *models_to_state(trained, {"raw": trained})


@pytest.mark.parametrize("gain", [1.0, 2.5, None])
def test_a_network_comes_back_with_its_gain(gain):
    trained, labels, facts, arrays = stored(gain)
    back, _ = models_from_state(facts, arrays, labels, 4, None)
    X = np.random.RandomState(0).randn(6, 4)
    assert torch.equal(back.outputs(X), trained.outputs(X))
    assert back.outputs(X).any()


@pytest.mark.parametrize("gain", [None, 0.0, -1.0, float("inf"), float("nan"), True, "1"])
def test_a_gain_that_no_network_has_is_refused(gain):
    _, labels, facts, arrays = stored(1.0)
    told = msgspec.to_builtins(facts) | {"gain": gain}
    with pytest.raises(ValueError, match="gain"):
        models_from_state(msgspec.convert(told, Architecture), arrays, labels, 4, None)
