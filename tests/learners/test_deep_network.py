from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, r2_score

from safegain.learners.deep_network import LEAST_BATCH, DeepNetwork, _batches, _kept, _Layers, _rate
from safegain.learners.target import Target
from safegain.learners.trained_deep_network import FAR, clipped
from tests.learners.soft_rows import CLASSES, codes, numbers, rows, soft, sure

SMALL = DeepNetwork(n_hidden=32, n_layers=2)


def test_classes_and_numbers_are_learned():
    fresh = rows(500, seed=2)
    X, target = sure(800)
    assert accuracy_score(CLASSES[codes(fresh)], DeepNetwork().train(X, target, 0).predict(fresh)) > 0.93
    X, target = numbers(800)
    assert r2_score(numbers(500, seed=2)[1].values, DeepNetwork().train(X, target, 0).predict(fresh)) > 0.93


def test_weights_count_as_rows():
    """Rows that contradict each other: three of four say the first class."""
    X = np.repeat(rows(200), 2, axis=0)
    target = Target.of_codes(np.tile([0, 1], 200), CLASSES[:2], np.tile([3.0, 1.0], 200))
    found = SMALL.train(X, target, 0).predict_proba(X)
    assert found[:, 0].mean() == pytest.approx(0.9 * 0.75 + 0.05, abs=0.05)


def test_rows_without_weight_are_not_there():
    X, target = soft(300)
    weight = (np.arange(300) % 2).astype(float)
    X[::2] += 100
    kept = Target(target.values[1::2], CLASSES)
    found = [
        SMALL.train(X, Target(target.values, CLASSES, weight), 0).outputs(X),
        SMALL.train(X[1::2], kept, 0).outputs(X),
    ]
    np.testing.assert_allclose(*found, atol=1e-6)


def test_the_trained_network_is_that_of_the_last_step(monkeypatch):
    """Scales of columns and of layers are folded into plain weights."""
    seen = []
    monkeypatch.setattr(
        _Layers, "folded", property(lambda self, plain=_Layers.folded: seen.append(self) or plain.fget(self))
    )
    X, target = soft(200)
    model = SMALL.train(X, target, 0)
    with torch.no_grad():
        z = seen[0](clipped(model.inputs.rows(X)), 0.0, torch.Generator())
    np.testing.assert_allclose(model.outputs(X), torch.softmax(z.double(), dim=1), atol=1e-5)
    assert not torch.equal(seen[0].scales, torch.ones(4))


def test_the_seed_decides_and_nothing_else_is_touched():
    X, target = soft(100)
    X.flags.writeable = target.values.flags.writeable = False
    before = torch.get_rng_state()
    first, same, other = (SMALL.train(X, target, seed).outputs(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 1e-3
    assert torch.equal(before, torch.get_rng_state())


def test_a_column_that_hardly_varies_is_scaled_by_its_range_and_a_constant_one_stays():
    X = np.zeros((100, 3))
    X[:, 0], X[3, 1], X[:, 2] = np.arange(100), 8.0, 5.0
    X[::2, 2] = np.nextafter(5.0, 6)  # but for rounding
    inputs = SMALL.train(X, Target.of_codes(np.arange(100) % 2, CLASSES[:2]), 0).inputs
    np.testing.assert_allclose(inputs.mean, [49.5, 0, 5])
    np.testing.assert_allclose(inputs.scale, [49.5, 4, 1])


def test_no_value_is_far_out():
    x = torch.tensor([0.01, -1.0, 1e6, -1e6])
    np.testing.assert_allclose(clipped(x), [0.01, -(0.9**0.5), FAR, -FAR], rtol=1e-5)
    X, target = sure(400)
    X[0] = 1e4
    fresh = rows(500, seed=2)
    found = DeepNetwork().train(X, target, 0)
    assert np.isfinite(found.outputs(np.full((1, 4), 1e30))).all()
    assert accuracy_score(CLASSES[codes(fresh)], found.predict(fresh)) > 0.8


def test_the_rate_rises_and_falls_four_times_each_twice_as_long():
    ends = [(2**i - 1) / 15 for i in range(5)]
    np.testing.assert_allclose([_rate(at) for at in ends], 0, atol=1e-12)
    tops = [(2 ** (i + 0.5) - 1) / 15 for i in range(4)]
    np.testing.assert_allclose([_rate(at) for at in tops], 1)


@pytest.mark.parametrize(("n", "size"), [(5, 5), (31, 31), (100, LEAST_BATCH), (400, 40), (9000, 257)])
def test_batches_of_an_epoch_have_different_rows(n, size):
    found = list(_batches(n, 3, torch.Generator().manual_seed(0)))
    assert len(found) == 3 * (n // size)
    assert all(len(rows) == size for _, rows in found)
    first = torch.cat([rows for _, rows in found[: n // size]])
    assert len(first.unique()) == len(first)
    np.testing.assert_allclose([progress for progress, _ in found], (np.arange(len(found)) + 0.5) / len(found))
    seen = torch.cat([rows for _, rows in _batches(n, 40, torch.Generator().manual_seed(0))]).unique()
    assert len(seen) == n  # what one epoch leaves out another has


def test_cost_grows_with_what_is_asked_for():
    assert 0 < DeepNetwork().cost(1000, 10, 2) < DeepNetwork().cost(1000, 500, 2) < DeepNetwork().cost(9000, 500, 2)
    assert SMALL.cost(1000, 10, 2) < DeepNetwork().cost(1000, 10, 2)


@pytest.mark.parametrize("wrong", [{"n_hidden": 0}, {"n_layers": 1.5}, {"dropout": 1}, {"learning_rate": 0}])
def test_wrong_settings_are_told(wrong):
    with pytest.raises(ValueError, match=f"DeepNetwork: {next(iter(wrong))} must"):
        DeepNetwork(**wrong)


def test_units_are_left_out_by_chance_and_the_others_make_up_for_it():
    found = _kept(torch.Size([1001, 37]), 0.15, torch.Generator().manual_seed(0))
    assert found.unique().tolist() == [0, pytest.approx(256 / 218)]
    assert float(found.mean()) == pytest.approx(1, abs=0.01)
    out = (found == 0).float()
    assert float((out[:, 1:] * out[:, :-1]).mean()) == pytest.approx(0.15**2, abs=0.003)  # neighbours share a draw
    assert float(_kept(torch.Size([5, 3]), 0.0, torch.Generator()).mean()) == 1
    assert float(_kept(torch.Size([400, 300]), 0.999, torch.Generator()).mean()) == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("other", [{"n_epochs": 9}, {"learning_rate": 0.02}, {"dropout": 0.4}, {"n_layers": 1}])
def test_every_setting_has_an_effect(other):
    X, target = soft(100)
    found = SMALL.train(X, target, 0).outputs(X), replace(SMALL, **other).train(X, target, 0).outputs(X)
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_training_that_diverges_is_told():
    X, target = numbers(100)
    with pytest.raises(ValueError, match="DeepNetwork: learning_rate=1e\\+30 made training diverge"):
        replace(SMALL, learning_rate=1e30).train(X, target, 0)


def test_it_is_of_single_precision_whatever_torchs_default_is():
    X, target = soft(60)
    wanted = SMALL.train(X, target, 0).outputs(X)
    torch.set_default_dtype(torch.float64)
    try:
        found = SMALL.train(X, target, 0).outputs(X)
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_few_rows_and_rows_of_one_class_are_learned(n):
    X = rows(n)
    found = SMALL.train(X, Target.of_codes(np.zeros(n, dtype=int), CLASSES), 0)
    assert (found.predict(X) == "ant").all()
