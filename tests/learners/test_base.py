"""What learners say of themselves: which rows they take, for which task they are, and what trains them."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from safegain.learners.base import ALPHA, Differentiable, Learner
from safegain.learners.linear import Linear
from safegain.learners.module import Module
from safegain.learners.network import Network
from safegain.learners.trained import trained_model
from safegain.learners.wrapped import Wrapped
from tests.learners.parts import parts_of

MODULE = Module(torch.nn.Linear(4, 3))


@pytest.mark.parametrize(
    ("learner", "sparse", "arrays", "anything"),
    [
        (Network(), False, False, False),
        (Linear(), True, False, False),
        (MODULE, False, True, False),
        (Wrapped(LogisticRegression()), False, False, True),
    ],
    ids=["network", "linear", "module", "wrapped"],
)
def test_which_rows_a_learner_takes(learner, sparse, arrays, anything):
    assert isinstance(learner, Learner)
    assert (learner.takes_sparse, learner.takes_arrays, learner.takes_anything) == (sparse, arrays, anything)
    assert isinstance(learner, Differentiable) is not anything
    assert learner.gives_probabilities
    learner.check_task(classifies=True)


@pytest.mark.parametrize("learner", [Network(), Linear(), MODULE], ids=["network", "linear", "module"])
def test_a_setup_makes_models_that_answer_in_the_users_units(learner):
    parts = parts_of(3)
    setup = learner.setup(parts)
    assert setup.alpha == (0.0 if isinstance(learner, Network) else ALPHA)  # the recipe has a decay of its own
    theta = setup.model.init(torch.Generator().manual_seed(0))
    trained = trained_model(setup, theta, parts)
    assert trained.classes is parts.classes
    z = setup.model.outputs(theta, setup.inputs.rows(parts.weak.X))
    np.testing.assert_allclose(trained.outputs(parts.weak.X), z)
    if learner is MODULE:
        return
    numbers = parts_of(None)
    setup = learner.setup(numbers)
    theta = setup.model.init(torch.Generator().manual_seed(0))
    z = setup.model.outputs(theta, setup.inputs.rows(numbers.weak.X))
    np.testing.assert_allclose(trained_model(setup, theta, numbers).predict(numbers.weak.X), 2 * z[:, 0] + 3)
