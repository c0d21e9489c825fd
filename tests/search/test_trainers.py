"""Trainings on labels and on evidence, against losses, networks and solutions of their own."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import safegain.search.trainers
from safegain import Linear, Newton
from safegain.bilevel.models import TwoLayer
from safegain.data.labels import ClassLabels
from safegain.evidence.classes import Evidence
from safegain.learners.base import Setup
from safegain.learners.recipe import CrossEntropy, DropoutNetwork, Material, Recipe, train
from safegain.search.trainers import RecipeTrainer, SolverTrainer
from tests.search.samples import digits, of_classes

NONE = torch.tensor([], dtype=torch.int64)


def recipe_trainer(X, known, recipe, seed=3):
    model = TwoLayer(X.shape[1], 7, known.n_classes, dtype=X.dtype, gain=1.0)
    setup = Setup(None, model, "gd", 0.0)  # of which only the model matters here
    return RecipeTrainer(setup, None, X, known, recipe, torch.Generator().manual_seed(seed))


def test_the_recipes_network_is_handed_over_as_it_is():
    rng = np.random.RandomState(0)
    X, y = torch.from_numpy(rng.randn(80, 4)).float(), torch.from_numpy(rng.randint(3, size=80))
    known, recipe = ClassLabels(y, torch.arange(80) >= 60, 3), Recipe(n_steps=15, n_looks=3)
    rows, held = torch.arange(70), torch.arange(70, 80)
    trainer = recipe_trainer(X, known, recipe)
    theta = trainer.on_labels(rows, held)
    generator = torch.Generator().manual_seed(3)
    network = DropoutNetwork(trainer.model, recipe.dropout, generator)
    material = Material(X[:70], y[:70], known.trusted[:70], X[70:], y[70:], 3)
    network = train(CrossEntropy(network, material, generator), recipe)
    np.testing.assert_allclose(trainer.outputs(theta, torch.arange(80)), network(X).detach(), atol=1e-5)
    assert not theta.requires_grad
    # Rows that are not named are not seen: neither their labels nor their evidence.
    other = replace(known, y=torch.where(torch.arange(80) < 10, (y + 1) % 3, y))
    Q = torch.from_numpy(rng.dirichlet(np.ones(3), size=80)).float()
    evidence = Evidence(Q.log(), torch.full((3, 3), 1 / 3), Q, 0.0)
    changed = replace(evidence, log_p=evidence.log_p.clone(), Q=Q.clone())
    changed.log_p[:10], changed.Q[:10] = -1.0, 1 / 3
    later = torch.arange(10, 70)
    for first, second in (
        [recipe_trainer(X, each, recipe).on_labels(later, held) for each in (known, other)],
        [recipe_trainer(X, known, recipe).on_evidence(later, held, each, 0.5) for each in (evidence, changed)],
    ):
        assert torch.equal(first, second)


def solver_trainer(learner):
    """(trainer, X, y); rows are named by their place in X."""
    X, noisy, _, trusted = digits(120, k=3)
    parts = of_classes(X, noisy, trusted, trusted, learner=learner).parts
    labels = ClassLabels(torch.from_numpy(noisy), torch.from_numpy(trusted), 3)
    return SolverTrainer.of(learner.setup(parts), parts, X, labels, torch.Generator().manual_seed(0), 0), X, noisy


def test_the_solver_solves_for_the_rows_that_are_named():
    trainer, X, noisy = solver_trainer(Linear(alpha=0.01, solver=Newton(tol=1e-9)))
    lower, inputs, known, rows = trainer.lower, trainer.inputs, trainer.labels, torch.arange(20, 100)
    Q = torch.from_numpy(np.random.RandomState(0).dirichlet(np.ones(3), size=len(noisy)))
    evidence = Evidence(Q.log(), torch.eye(3), Q, 0.0)
    part, ones = replace(lower, X=inputs.rows(X[20:100])), torch.ones(80, dtype=torch.float64)
    for theta, labels in (
        (trainer.on_labels(rows, NONE), known.one_hot.double()),
        (trainer.on_evidence(rows, NONE, evidence, 0.3), Q),
    ):
        assert float(part.gradient(theta, ones, labels[20:100]).abs().max()) < 1e-8
    oracle = LogisticRegression(C=1 / (0.01 * 80), max_iter=3000, tol=1e-8)
    scaled = (X - inputs.mean.numpy()) / inputs.scale.numpy()
    expected = oracle.fit(scaled[20:100], noisy[20:100]).predict_proba(scaled)
    found = trainer.outputs(trainer.on_labels(rows, NONE), torch.arange(len(noisy))).softmax(dim=1)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(ValueError, match=r"solver: training diverged.*lower its learning_rate"):
        replace(trainer, start=trainer.start * torch.nan).on_labels(rows, NONE)


def test_what_a_trainer_hands_over():
    trainer, X, noisy = solver_trainer(Linear(alpha=0.01))
    rows = torch.arange(len(noisy))
    theta = trainer.on_labels(rows, NONE)
    model = trainer.predictor(theta)
    np.testing.assert_allclose(model.predict_proba(X), trainer.outputs(theta, rows).softmax(dim=1), atol=1e-12)
    assert model.classes_.tolist() == [0, 1, 2]
    y = torch.from_numpy(noisy)
    score = trainer.score(theta, rows[:50], y[:50])
    np.testing.assert_array_equal(score.wrong, model.predict(X[:50]) != noisy[:50])
    assert trainer.handed_over(theta, rows) is theta
    assert trainer.references(("trusted",)) == ("raw", "trusted")  # the raw model always is there
    assert trainer.references(("raw", "raw+trusted", "trusted")) == ("raw", "raw+trusted", "trusted")


def test_many_outputs_are_made_in_blocks(monkeypatch):
    X, y = torch.from_numpy(np.random.RandomState(0).randn(30, 4)).float(), torch.arange(30) % 3
    trainer = recipe_trainer(X, ClassLabels(y, y < 0, 3), Recipe(n_steps=2))
    theta = trainer.on_labels(torch.arange(30), NONE)
    whole = trainer.outputs(theta, torch.arange(30))
    monkeypatch.setattr(safegain.search.trainers, "BLOCK_ROWS", 7)
    sizes, plain = [], type(trainer.model).outputs
    monkeypatch.setattr(
        type(trainer.model), "outputs", lambda self, theta, X: sizes.append(len(X)) or plain(self, theta, X)
    )
    np.testing.assert_allclose(trainer.outputs(theta, torch.arange(30)), whole, atol=1e-6)
    assert sizes == [7, 7, 7, 7, 2]


def test_row_weights_are_how_often_a_row_is_there():
    """Of a model that is solved for exactly: whole weights and repeated rows are the same."""
    trainer, _, noisy = solver_trainer(Linear(alpha=0.01, solver=Newton(tol=1e-10)))
    weight = torch.from_numpy(np.random.RandomState(0).randint(0, 3, len(noisy))).double()
    rows = torch.arange(20, 100)
    weighted = replace(trainer, weight=weight).on_labels(rows, NONE)
    repeated = trainer.on_labels(rows.repeat_interleave(weight[rows].long()), NONE)
    torch.testing.assert_close(weighted, repeated, atol=1e-6, rtol=0)
    assert not torch.allclose(weighted, trainer.on_labels(rows, NONE), atol=1e-3)
    Q = torch.from_numpy(np.random.RandomState(1).dirichlet(np.ones(3), size=len(noisy)))
    evidence = Evidence(Q.log(), torch.eye(3), Q, 0.0)
    refit = replace(trainer, weight=weight).on_evidence(rows, NONE, evidence, 1.0)
    again = trainer.on_evidence(rows.repeat_interleave(weight[rows].long()), NONE, evidence, 1.0)
    torch.testing.assert_close(refit, again, atol=1e-6, rtol=0)


def test_row_weights_reach_the_recipe():
    rng = np.random.RandomState(0)
    X, y = torch.from_numpy(rng.randn(80, 4)).float(), torch.from_numpy(rng.randint(3, size=80))
    known, recipe = ClassLabels(y, torch.arange(80) >= 60, 3), Recipe(n_steps=15, n_looks=3)
    rows, held = torch.arange(70), torch.arange(70, 80)

    def theta(weight, labels=known):
        return replace(recipe_trainer(X, labels, recipe), weight=weight).on_labels(rows, held)

    usual = theta(None)
    torch.testing.assert_close(theta(torch.full((80,), 7.0, dtype=torch.float64)), usual)  # only shares matter
    ignored = (torch.arange(80) >= 10).double()
    other = replace(known, y=torch.where(torch.arange(80) < 10, (y + 1) % 3, y))
    assert torch.equal(theta(ignored), theta(ignored, other))  # rows of weight 0 teach nothing
    assert not torch.equal(usual, theta(None, other))
    stop = torch.ones(80, dtype=torch.float64)
    stop[70:75] = 0
    changed = replace(known, y=torch.where((torch.arange(80) >= 70) & (torch.arange(80) < 75), (y + 1) % 3, y))
    assert torch.equal(theta(stop), theta(stop, changed))  # nor stop it
