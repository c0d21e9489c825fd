import numpy as np
import pytest
from safetensors import numpy as safetensors

from safegain.learners import trained_boosting
from safegain.learners.boosting import Boosting
from safegain.learners.trained_boosting import TrainedBoosting
from tests.learners.soft_rows import numbers, rows, soft


def trained(made, categorical=()):
    X, target = made(400)
    X[:, 0] = np.round(2 * X[:, 0])
    X[::7, 1] = np.nan
    return Boosting(max_iter=10, categorical=categorical).train(X, target, 0), target.classes


@pytest.mark.parametrize("categorical", [(), (0,)])
@pytest.mark.parametrize("made", [soft, numbers])
def test_stored_and_read_again_it_predicts_the_same_bits(made, categorical, monkeypatch):
    model, classes = trained(made, categorical)
    assert bool(len(model.boosted.left)) == bool(categorical)
    facts, arrays = model.state()
    again = TrainedBoosting.from_state(facts, safetensors.load(safetensors.save(arrays)), classes)
    fresh = rows(1000, seed=3)
    fresh[::5, 2] = np.nan
    found = model.outputs(fresh)
    assert np.array_equal(again.outputs(fresh), found)
    monkeypatch.setattr(trained_boosting, "BLOCK_ROWS", 64)
    monkeypatch.setattr(trained_boosting, "n_threads", lambda: 3)
    assert np.array_equal(again.outputs(fresh), found)
    assert model.outputs(fresh[:0]).shape == (0, 1 if classes is None else 3)


def put(name, place, value):
    def damage(arrays):
        arrays[name][place] = value

    return damage


DAMAGE = {
    "a child above": put("right", 0, -1),
    "a child beyond": put("right", 0, 10**6),
    "a column beyond": put("feature", 0, 4),
    "a value that is no number": put("values", 0, np.nan),
    "an infinite baseline": put("baseline", 0, np.inf),
    "a tree of no class": put("column", 0, 3),
    "a tree before all classes": put("column", 0, -1),
    "names that are not there": put("names", 0, 10**6),
    "names below": put("names", 0, -2),
    "narrow names": lambda arrays: arrays.update(left=arrays["left"][:, :4].copy()),
    "fewer values": lambda arrays: arrays.update(values=arrays["values"][1:]),
    "no sizes": lambda arrays: arrays.pop("sizes"),
    "fewer trees": lambda arrays: arrays.update(column=arrays["column"][1:]),
    "another column of names": put("category_columns", 0, 9),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_arrays_are_refused(damage):
    model, classes = trained(soft, (0,))
    facts, arrays = model.state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    damage(arrays)
    with pytest.raises((ValueError, KeyError)):
        TrainedBoosting.from_state(facts, arrays, classes)
