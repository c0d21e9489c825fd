import numpy as np
import pytest
from safetensors import numpy as safetensors

from safegain.learners.deep_network import DeepNetwork
from safegain.learners.trained_deep_network import TrainedDeepNetwork
from tests.learners.soft_rows import numbers, rows, soft

SMALL = DeepNetwork(n_hidden=8, n_layers=2, n_epochs=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("made", [soft, numbers])
def test_stored_and_read_again_it_predicts_the_same_bits(made, dtype):
    X, target = made(200)
    model = SMALL.train(X.astype(dtype), target, 0)
    facts, arrays = model.state()
    again = TrainedDeepNetwork.from_state(facts, safetensors.load(safetensors.save(arrays)), target.classes)
    fresh = rows(20_000, seed=3).astype(dtype)
    assert np.array_equal(again.outputs(fresh), model.outputs(fresh))
    assert model.outputs(fresh[:0]).shape == (0, 1 if target.classes is None else 3)


def test_large_numbers_keep_their_digits():
    X, target = numbers(300)
    far = type(target)(target.values + 1e9, None)
    model = SMALL.train(X, far, 0)
    assert np.std(model.outputs(X) - 1e9) == pytest.approx(np.std(SMALL.train(X, target, 0).outputs(X)), rel=1e-3)


DAMAGE = {
    "an infinite weight": lambda facts, arrays: arrays["weights.1"].__setitem__((0, 0), np.inf),
    "no layers": lambda facts, arrays: facts.update(n_products=0),
    "a layer less": lambda facts, arrays: facts.update(n_products=2),
    "a layer in words": lambda facts, arrays: facts.update(n_products="3"),
    "more layers than memory": lambda facts, arrays: facts.update(n_products=10**12),
    "rows of double precision": lambda facts, arrays: facts.update(dtype="float64"),
    "no scaling": lambda facts, arrays: [arrays.pop("mean"), arrays.pop("scale")],
    "an infinite mean": lambda facts, arrays: facts.update(mean=float("inf")),
    "another type": lambda facts, arrays: facts.update(dtype="int8"),
    "fewer classes": lambda facts, arrays: arrays.update({"biases.2": arrays["biases.2"][1:]}),
    "other columns": lambda facts, arrays: facts.update(n_features=3),
    "layers that do not meet": lambda facts, arrays: arrays.update({"weights.1": arrays["weights.1"][1:]}),
    "double precision": lambda facts, arrays: arrays.update({"biases.0": arrays["biases.0"].astype(float)}),
    "a scale of zero": lambda facts, arrays: arrays["scale"].__setitem__(0, 0),
    "half a scaling": lambda facts, arrays: arrays.pop("mean"),
    "a bias too few": lambda facts, arrays: arrays.pop("biases.0"),
    "an array too many": lambda facts, arrays: arrays.update(more=np.ones(3)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_arrays_are_refused(damage):
    X, target = soft(60)
    facts, arrays = SMALL.train(X, target, 0).state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    damage(facts, arrays)
    with pytest.raises((ValueError, KeyError)):
        TrainedDeepNetwork.from_state(facts, arrays, target.classes)
