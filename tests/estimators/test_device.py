"""Everything lies where it should: torch's default device is "meta" here, on which nothing can be computed.

A tensor that is made without a device lands there, and whatever meets it fails.
"""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from safegain import (
    Adam,
    Auto,
    Boosting,
    DeepNetwork,
    Descent,
    Forest,
    Free,
    Huber,
    KernelMachine,
    Linear,
    Module,
    Network,
    PerClass,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    Structured,
)
from safegain.data import devices
from safegain.data.devices import device_named, training_device, training_on
from safegain.evidence.class_heads import KernelHead
from safegain.evidence.number_heads import KernelNumbers
from safegain.learners import kernel, threads
from safegain.learners.target import Target

SHORT = Network(6, Recipe(n_steps=30))
MODULE = torch.nn.Linear(4, 2)


@contextmanager
def on_meta():
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(None)


def made(n=240):
    random = np.random.RandomState(0)
    X = random.normal(size=(n, 4))
    trusted, true = np.arange(n) < 80, (X[:, 0] > 0).astype(int)
    return X, np.where(~trusted & (random.rand(n) < 0.3), 1 - true, true), trusted


SEARCHES = [
    (
        PGSClassifier,
        {"model": [SHORT, Linear(), Forest(n_trees=4), Boosting(max_iter=4), KernelMachine(n_landmarks=20)]},
    ),
    (PGSClassifier, {"model": [DeepNetwork(n_hidden=8, n_epochs=2), LogisticRegression()]}),
    (PGSClassifier, {"model": "linear", "search": Auto(time_budget=60), "safeness": PerClass(), "certificate": 0.2}),
    (PGSClassifier, {"model": "linear", "search": Free(n_outer=1)}),
    (PGSClassifier, {"model": "linear", "search": Structured(n_outer=1)}),
    (PGSClassifier, {"model": Network(4, solver=Descent(n_steps=5)), "search": Free(n_outer=1)}),
    (PGSClassifier, {"model": Module(MODULE, solver=Descent(n_steps=5)), "search": Free(n_outer=1)}),
    (
        PGSRegressor,
        {"model": [Linear(), Huber(), Forest(n_trees=4), Boosting(max_iter=4), KernelMachine(n_landmarks=20)]},
    ),
    (PGSRegressor, {"model": [DeepNetwork(n_hidden=8, n_epochs=2), Network(4, solver=Descent(n_steps=5))]}),
    (PGSRegressor, {"model": "linear", "search": Free(n_outer=1)}),
    (PGSRegressor, {"model": "linear", "search": "residuals"}),
]


@pytest.mark.parametrize(("kind", "settings"), SEARCHES)
def test_every_search_and_learner_ends_as_on_a_usual_default_device(kind, settings, quick_evidence):
    X, y, trusted = made()
    usual = kind(random_state=0, **settings).fit(X, y, trusted=trusted)
    with on_meta():
        found = kind(random_state=0, device="cpu", **settings).fit(X, y, trusted=trusted)
        said = found.predict(X)
        issues = found.label_issues()
    np.testing.assert_array_equal(said, usual.predict(X))
    np.testing.assert_array_equal(found.corrected_labels_, usual.corrected_labels_)
    assert len(issues) == len(usual.label_issues())
    assert torch.get_default_device() == torch.device("cpu")


LEARNERS = [SHORT, DeepNetwork(n_hidden=8, n_epochs=2), KernelMachine(n_landmarks=20)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_what_runs_on_devices_names_its_device_by_itself(learner, weighted):
    """Without the shelter that a fit gives to all else."""
    X, y, _ = made()
    weight = np.linspace(0.1, 1, len(y)) if weighted else None
    target = Target.of_codes(y, np.array([0, 1]), weight)
    usual = learner.train(X, target, 0).predict_proba(X)
    with on_meta():
        np.testing.assert_array_equal(learner.train(X, target, 0).predict_proba(X), usual)


DEEP = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Linear(8, 2)
)


@pytest.mark.parametrize("learner", [SHORT, Module(DEEP, solver=Descent(Adam(0.01), n_steps=3, batch_size=16))])
def test_training_stays_on_its_device_until_the_model_comes_back(learner, monkeypatch):
    """Here the device is "meta": what meets a tensor of the processor fails, and nothing comes back from there."""
    seeded = []
    there = SimpleNamespace(get_rng_state=lambda: "as it was", manual_seed=seeded.append, set_rng_state=seeded.append)
    monkeypatch.setattr(torch, "get_device_module", lambda device: there)
    X, y, _ = made()
    before = torch.get_rng_state()
    with training_on(torch.device("meta")), pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        learner.train(X, Target.of_codes(y, np.array([0, 1])), 0)
    if learner is not SHORT:
        assert len(seeded[::2]) == len(set(seeded[::2])) == 3  # dropout of each step, from a seed of its own
        assert set(seeded[1::2]) == {"as it was"}
    assert torch.equal(torch.get_rng_state(), before)
    assert all(each.device == devices.CPU and each.dtype == torch.float32 for each in DEEP.parameters())


@pytest.mark.parametrize("many", [False, True])
def test_so_do_kernels_of_the_evidence(many, monkeypatch):
    if many:
        monkeypatch.setattr(kernel, "MOST_KEPT", 100)
        monkeypatch.setattr(kernel, "BLOCK_ROWS", 100)
    X, y, _ = made()
    Q, weight = np.eye(2, dtype=np.float32)[y], torch.from_numpy(np.ones(len(y)))

    def scores():
        of_classes = list(KernelHead(X, 0.5, weight, np.random.RandomState(0)).scores(Q, 0))
        of_numbers = list(KernelNumbers(X, np.random.RandomState(0)).predicted(y.astype(float), weight.numpy(), 0))
        return np.concatenate([np.stack(of_classes).ravel(), np.stack(of_numbers).ravel()])

    usual = scores()
    with on_meta():
        np.testing.assert_array_equal(scores(), usual)


def test_threads_work_on_the_device_of_their_fit(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    with on_meta(), training_on(torch.device("cpu", 0)):
        found = threads.side_by_side(lambda item: (training_device(), torch.zeros(1).device.type), [1, 2, 3])
    assert found == [(torch.device("cpu", 0), "cpu")] * 3
    assert training_device() == torch.device("cpu")


def test_a_device_that_is_not_there_is_named(monkeypatch):
    X, y, trusted = made()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert device_named("auto") == devices.CPU
    for name in ("cuda", "mps"):
        with pytest.raises(ValueError, match=f"device: torch finds no '{name}' on this machine; give 'auto' or 'cpu'"):
            PGSClassifier("linear", device=name).fit(X, y, trusted=trusted)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_named("auto") == torch.device("cuda")
    with pytest.raises(ValueError, match="device: search='free' computes on the processor, got 'cuda'"):
        PGSClassifier("linear", search="free", device="cuda").check_params()
    with pytest.raises(ValueError, match="'device' parameter"):
        PGSClassifier(device="gpu").check_params()
