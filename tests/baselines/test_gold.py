"""Gold loss correction: its matrix by hand, and on rows where the true one is known."""

import numpy as np
import torch

from safegain import baselines as methods
from safegain.baselines.gold import estimated_transition
from safegain.learners.recipe import Recipe


def test_gold_matrix_is_the_mean_prediction_of_a_class():
    p = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    found = estimated_transition(p, torch.tensor([0, 0, 2]))
    assert torch.allclose(found, torch.tensor([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]]))


def test_gold_finds_the_transition_of_separable_rows():
    random = np.random.RandomState(0)
    T = np.array([[0.6, 0.4, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]])
    true = random.randint(3, size=1500)
    X = np.eye(3)[true] * 4 + 0.1 * random.randn(1500, 3)
    given = np.array([random.choice(3, p=T[c]) for c in true])
    trusted = np.arange(1500) >= 1300
    model = methods.GoldLossCorrection(n_hidden=16, recipe=Recipe(n_steps=400), random_state=0)
    model.fit(X, np.where(trusted, true, given), trusted=trusted)
    assert np.abs(model.transition_ - T).max() < 0.08
    assert model.score(X, true) == 1
