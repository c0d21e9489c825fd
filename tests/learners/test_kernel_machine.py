import numpy as np
import pytest
import torch
from safetensors import numpy as safetensors
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import accuracy_score, r2_score

from safegain.learners import kernel_machine
from safegain.learners.kernel_machine import KernelMachine, TrainedKernelMachine
from safegain.learners.target import Target
from tests.learners.soft_rows import CLASSES, codes, numbers, rows, soft, sure


def test_with_all_rows_as_landmarks_it_is_kernel_ridge_regression():
    X, target = numbers(120, weighted=True)
    fresh = rows(50, seed=7)
    machine = KernelMachine(n_landmarks=120, width=0.5, penalty=0.3, scaling="none")
    found = machine.train(X, target, 0)
    oracle = KernelRidge(kernel=RBF((found.reach / 2) ** 0.5), alpha=0.3)
    y = target.values - target.mean
    oracle.fit(X, y, sample_weight=target.weights)
    assert found.predict(fresh) == pytest.approx(oracle.predict(fresh) + target.mean, abs=0.05)
    assert np.std(oracle.predict(fresh)) > 3


@pytest.mark.parametrize("few", [False, True])
def test_left_out_predictions_are_those_without_the_row(monkeypatch, few):
    X, target = numbers(60, weighted=True)
    monkeypatch.setattr(kernel_machine, "BLOCK_ROWS", 16)
    if few:
        monkeypatch.setattr(kernel_machine, "MOST_KEPT", 10)
    R = torch.from_numpy(X).float()
    kernel = kernel_machine.Kernel.of(R[:20], 0.5)
    ridge = kernel_machine._Ridge(kernel, R, target)
    left_out = ridge._left_out(0.3, 60)
    torch.testing.assert_close(ridge._left_out(0.3, 25), left_out[:25])
    F, w, y = kernel.features(R).double().numpy(), target.weights, target.values - target.mean
    for row in (0, 17, 59):
        others = np.arange(60) != row
        A = (F[others] * w[others, None]).T @ F[others] + 0.3 * np.eye(F.shape[1])
        wanted = F[row] @ np.linalg.solve(A, F[others].T @ (w[others] * y[others]))
        assert float(left_out[row]) == pytest.approx(wanted, abs=1e-2)


def test_classes_and_numbers_are_learned():
    fresh = rows(500, seed=2)
    X, target = sure(800)
    model = KernelMachine().train(X, target, 0)
    assert accuracy_score(CLASSES[codes(fresh)], model.predict(fresh)) > 0.93
    X, target = numbers(800)
    assert r2_score(numbers(500, seed=2)[1].values, KernelMachine().train(X, target, 0).predict(fresh)) > 0.95


def test_probabilities_are_those_of_soft_labels():
    X = rows(3000)
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    Q = np.stack([1 - chance, chance], axis=1).astype(np.float32)
    found = KernelMachine(n_landmarks=200).train(X, Target(Q, CLASSES[:2]), 0).predict_proba(fresh := rows(500, seed=5))
    assert np.abs(found[:, 1] - 1 / (1 + np.exp(-2 * fresh[:, 0]))).mean() < 0.03


def test_rows_without_weight_are_not_there():
    X, target = sure(300)
    weight = (np.arange(300) % 2).astype(float)
    X[::2] += 100
    found = KernelMachine().train(X, Target(target.values, CLASSES, weight), 0)
    assert found.landmarks.abs().max() < 50
    assert accuracy_score(CLASSES[target.values[1::2].argmax(axis=1)], found.predict(X[1::2])) > 0.93


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("made", [soft, numbers])
def test_stored_and_read_again_it_predicts_the_same_bits(made, dtype):
    X, target = made(200)
    X = X.astype(dtype)
    X.flags.writeable = target.values.flags.writeable = False
    model = KernelMachine().train(X, target, 0)
    facts, arrays = model.state()
    again = TrainedKernelMachine.from_state(facts, safetensors.load(safetensors.save(arrays)), target.classes)
    fresh = rows(5000, seed=3).astype(dtype)
    assert np.array_equal(again.outputs(fresh), model.outputs(fresh))
    assert model.outputs(fresh[:0]).shape == (0, 1 if target.classes is None else 3)


DAMAGE = {
    "an infinite landmark": lambda facts, arrays: arrays["landmarks"].__setitem__((0, 0), np.inf),
    "no reach": lambda facts, arrays: facts.update(reach=0.0),
    "a reach in words": lambda facts, arrays: facts.update(reach="1"),
    "another type": lambda facts, arrays: facts.update(dtype="int8"),
    "fewer classes": lambda facts, arrays: arrays.update(bias=arrays["bias"][1:]),
    "other columns": lambda facts, arrays: facts.update(n_features=3),
    "a scale of zero": lambda facts, arrays: arrays["scale"].__setitem__(0, 0),
    "half a scaling": lambda facts, arrays: arrays.pop("mean"),
    "no landmarks": lambda facts, arrays: arrays.pop("landmarks"),
    "an array too many": lambda facts, arrays: arrays.update(more=np.ones(3)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_arrays_are_refused(damage):
    X, target = soft(60)
    facts, arrays = KernelMachine().train(X, target, 0).state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    damage(facts, arrays)
    with pytest.raises((ValueError, KeyError)):
        TrainedKernelMachine.from_state(facts, arrays, target.classes)


def test_cost_grows_with_rows_and_landmarks():
    cheap = KernelMachine(n_landmarks=200).cost(1000, 10, 2)
    assert 0 < cheap < KernelMachine().cost(10_000, 10, 2)


@pytest.mark.parametrize("wrong", [{"n_landmarks": 1}, {"width": 0}, {"penalty": -1}, {"scaling": "row"}])
def test_wrong_settings_are_told(wrong):
    with pytest.raises(ValueError, match=f"KernelMachine: {next(iter(wrong))} must"):
        KernelMachine(**wrong)


def test_a_settled_machine_has_the_width_that_training_finds():
    X, target = sure(600)
    found = KernelMachine().settled(X, target, 3)
    assert found.width in kernel_machine.WIDTHS
    assert found.penalty is None
    fresh = rows(50, seed=4)
    asked = [machine.train(X, target, 3).predict_proba(fresh) for machine in (KernelMachine(), found)]
    np.testing.assert_array_equal(*asked)
    losses = {}
    for width in kernel_machine.WIDTHS:
        P = KernelMachine(width=width, n_landmarks=600).train(X, target, 3).predict_proba(rows(3000, seed=5))
        losses[width] = -np.log(P[np.arange(3000), codes(rows(3000, seed=5))]).mean()
    assert losses[found.width] < np.mean(list(losses.values()))


def test_a_machine_with_a_width_is_settled():
    machine = KernelMachine(width=2.0)
    assert machine.settled(*sure(50), 0) is machine
