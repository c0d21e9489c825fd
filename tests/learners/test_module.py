"""A torch module of the user's as a learner."""

import copy

import numpy as np
import pytest
import torch

from safegain.learners.module import Module
from safegain.learners.trained import trained_model
from tests.learners.parts import parts_of


def test_a_copy_starts_from_the_weights_that_the_module_has():
    module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    before = copy.deepcopy(module.state_dict())
    setup = Module(module, solver="adam", alpha=0.2).setup(parts_of(3))
    theta = setup.model.init(torch.Generator())
    assert torch.equal(theta.float(), torch.nn.utils.parameters_to_vector(module.parameters()))
    assert (setup.solver, setup.alpha) == ("adam", 0.2)
    setup.model.module[0].weight.data += 1
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize(("scaling", "same"), [("auto", True), ("none", True), ("column", False), ("common", False)])
def test_rows_are_left_as_they_are_unless_asked(scaling, same):
    parts = parts_of(3)
    rows = Module(torch.nn.Linear(4, 3), scaling=scaling).setup(parts).inputs.rows(parts.weak.X)
    assert np.array_equal(rows.numpy(), parts.weak.X) == same


@pytest.mark.parametrize(
    ("module", "n_classes", "message"),
    [
        (torch.nn.Linear(4, 2), 3, r"gives outputs of shape \(2, 2\) for 2 rows; it must give 3 logits, one for each"),
        (torch.nn.Linear(4, 2), None, r"gives outputs of shape \(2, 2\) for 2 rows; it must give one output"),
        (torch.nn.Linear(5, 3), 3, r"the module fails on a batch of shape \(2, 4\), with RuntimeError"),
        (torch.nn.ReLU(), 3, "the module has no parameters"),
    ],
)
def test_a_module_that_does_not_fit_is_named(module, n_classes, message):
    with pytest.raises(ValueError, match=f"^model: .*{message}|^model: {message}"):
        Module(module).setup(parts_of(n_classes))


def test_one_logit_will_do_for_two_classes():
    setup = Module(torch.nn.Linear(4, 1)).setup(parts_of(2))
    trained = trained_model(setup, setup.model.init(torch.Generator()), parts_of(2))
    assert trained.predict_proba(np.ones((3, 4))).shape == (3, 2)
