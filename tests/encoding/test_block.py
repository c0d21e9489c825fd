"""Blocks of columns beside each other, and their stored state."""

from functools import cache

import numpy as np
import pytest

from safegain.data.inputs import fit_inputs
from safegain.encoding import TableEncoder, images
from safegain.encoding.block import LEAST_SPREAD, comparable_scale
from tests.encoding.samples import MIXED_KINDS, arrow, mixed_table, refused


def test_blocks_count_as_one_number_beside_each_other():
    encoder = TableEncoder(MIXED_KINDS)
    found = encoder.fit_transform(mixed_table())
    names = encoder.get_feature_names_out()
    for column in ("age", "words", "vector", "face"):
        mine = [name.startswith(column) and "missing" not in name for name in names]
        assert found[:, mine].var(axis=0).sum() == pytest.approx(1, rel=1e-3)


def test_small_components_do_not_seem_to_be_of_another_unit():
    """Beside numbers, the estimator still divides all columns by one number."""
    random = np.random.default_rng(0)
    spreads = np.r_[np.full(20, 500.0), np.full(140, 10.0)]
    turn = np.linalg.qr(random.normal(size=(34 * 32 * 3, 160)))[0]
    pixels = 128 + (random.normal(size=(161, 160)) * spreads) @ turn.T
    table = {
        "x": arrow(random.normal(size=161).tolist()),
        "face": np.clip(pixels, 0, 255).astype(np.uint8).reshape(-1, 34, 32, 3),
    }
    found = TableEncoder({"x": "number", "face": "image"}, image_features="pixels").fit_transform(table)
    assert len(fit_inputs(found, model="network", scaling="auto").scale.unique()) == 1
    as_one_number = np.c_[found[:, 0], found[:, 1:] / np.sqrt(found[:, 1:].var(axis=0).sum())]
    assert len(fit_inputs(as_one_number, model="network", scaling="auto").scale.unique()) > 1
    assert images.telling(np.array([100.0, 5.0, 1.1, 0.9])).tolist() == [100, 5, 1.1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts, arrays: facts.pop("blocks"),
        lambda facts, arrays: facts["blocks"].pop(),
        lambda facts, arrays: facts["blocks"][0].update(block="os.system"),
        lambda facts, arrays: facts["blocks"][0].update(unknown=1),
        lambda facts, arrays: arrays.pop("4.centre"),
        lambda facts, arrays: facts["parameters"].update(kinds={"age": "nonsense"}),
        lambda facts, arrays: facts["parameters"].update(folder=5),
        lambda facts, arrays: facts["blocks"][0].update(scale="x"),
        lambda facts, arrays: facts["blocks"][0].update(scale=0.0),
        lambda facts, arrays: facts["blocks"][0].update(scale=True),
        lambda facts, arrays: facts["blocks"][0].update(centre=None),
        lambda facts, arrays: facts["blocks"][0].update(centre=10**400),
        lambda facts, arrays: facts["blocks"][0].update(gaps=1),
        lambda facts, arrays: facts["blocks"][2].update(categories=5),
        lambda facts, arrays: facts["blocks"][2].update(categories=["a", 5]),
        lambda facts, arrays: facts["blocks"][3].update(scale=-1.0),
        lambda facts, arrays: facts["blocks"][4].update(centre=arrays.pop("4.centre").tolist()),
        lambda facts, arrays: facts["blocks"][5].update(shape=[5, 6, 4]),
        lambda facts, arrays: facts["blocks"][5].update(shape=[10**6, 10**6, 3]),
        lambda facts, arrays: facts["blocks"][5].update(shape=[5.0, 6.0]),
        lambda facts, arrays: arrays.update({"3.terms": np.full(9, 255, np.uint8)}),
        lambda facts, arrays: arrays.update({"3.terms": np.frombuffer(b"a\na", np.uint8), "3.idf": np.ones(2)}),
        lambda facts, arrays: arrays.update({"3.idf": arrays["3.idf"][:-1]}),
        lambda facts, arrays: arrays.update({"3.idf": arrays["3.idf"] * np.nan}),
        lambda facts, arrays: arrays.update({"3.components": np.ones((2, 3))}),
        lambda facts, arrays: arrays.update({"4.scale": arrays["4.scale"][:-1]}),
        lambda facts, arrays: arrays.update({"4.scale": 0 * arrays["4.scale"]}),
        lambda facts, arrays: arrays.update({"5.mean": np.zeros(90)}),
        lambda facts, arrays: arrays.update({"5.mean": np.zeros(90), "5.components": np.zeros((2, 89))}),
    ],
)
def test_a_damaged_state_is_refused(damage):
    refused(*mixed_state(), damage)


@cache
def mixed_state() -> tuple[dict, dict]:
    return TableEncoder(MIXED_KINDS).fit(mixed_table()).state()


def test_the_scale_of_a_block():
    assert comparable_scale(np.array([3.0, 4.0, 0.0])) == pytest.approx(5)
    assert comparable_scale(np.zeros(2)) == 1
    assert comparable_scale(np.r_[1000.0, np.ones(9)]) == pytest.approx(1 / LEAST_SPREAD)  # the small ones still count
