import numpy as np
import pytest
from safetensors import numpy as safetensors

from safegain.learners import trained_forest
from safegain.learners.forest import Forest
from safegain.learners.trained_forest import TrainedForest, stored_values
from tests.learners.soft_rows import CLASSES, numbers, rows, soft


@pytest.mark.parametrize("made", [soft, numbers])
def test_stored_and_read_again_it_predicts_the_same_bits(made):
    X, target = made(300)
    model = Forest(n_trees=12).train(X, target, 0)
    facts, arrays = model.state()
    again = TrainedForest.from_state(facts, safetensors.load(safetensors.save(arrays)), target.classes)
    fresh = rows(5000, seed=3)
    assert np.array_equal(again.outputs(fresh), model.outputs(fresh))


def test_probabilities_are_stored_in_steps_coarse_ones_where_there_are_many(monkeypatch):
    means = [np.array([[0.25, 0.75], [0.0, 1.0]]), np.array([[0.5, 0.5]])]
    fine = stored_values(means, CLASSES[:2])
    monkeypatch.setattr(trained_forest, "MOST_FINE", 5)
    coarse = stored_values(means, CLASSES[:2])
    assert (fine.dtype, coarse.dtype) == (np.uint16, np.uint8)
    assert coarse.tolist() == [[64, 191], [0, 255], [128, 128]]
    assert fine / 65535 == pytest.approx(np.concatenate(means), abs=1 / 65535)


def test_coarse_steps_are_averaged_away(monkeypatch):
    X, target = soft(500)
    fine = Forest(n_trees=50).train(X, target, 0).predict_proba(X)
    monkeypatch.setattr(trained_forest, "MOST_FINE", 5)
    model = Forest(n_trees=50).train(X, target, 0)
    assert model.values.dtype == np.uint8
    assert np.abs(model.predict_proba(X) - fine).max() < 1 / 500


def test_a_row_of_nothing_but_zeros_has_equal_probabilities():
    X, target = soft(50)
    facts, arrays = Forest(n_trees=2).train(X, target, 0).state()
    model = TrainedForest.from_state(facts, {**arrays, "values": 0 * arrays["values"]}, target.classes)
    assert model.predict_proba(X[:2]) == pytest.approx(np.full((2, 3), 1 / 3))


def test_no_rows():
    X, target = soft(50)
    assert Forest(n_trees=2).train(X, target, 0).predict_proba(X[:0]).shape == (0, 3)


DAMAGE = {
    "values of fewer leaves": lambda arrays: {**arrays, "values": arrays["values"][1:]},
    "other values": lambda arrays: {**arrays, "values": arrays["values"].astype(np.float64)},
    "fewer classes": lambda arrays: {**arrays, "values": arrays["values"][:, 1:].copy()},
    "a child beyond": lambda arrays: {**arrays, "right": arrays["right"] * 1000},
    "no thresholds": lambda arrays: {name: each for name, each in arrays.items() if name != "threshold"},
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_arrays_are_refused(damage):
    X, target = soft(100)
    facts, arrays = Forest(n_trees=3).train(X, target, 0).state()
    with pytest.raises((ValueError, KeyError)):
        TrainedForest.from_state(facts, damage(arrays), target.classes)


def test_a_number_that_is_not_finite_is_refused():
    X, target = numbers(100)
    facts, arrays = Forest(n_trees=3).train(X, target, 0).state()
    arrays["values"][4] = np.inf
    with pytest.raises(ValueError, match="finite"):
        TrainedForest.from_state(facts, arrays, None)
