"""Every argument of what is for numbers alone does something: what is predicted changes with it."""

from dataclasses import fields

import numpy as np
import pytest

from safegain import Boosting, Descent, Huber, Linear, Network, PGSRegressor, Reshaped, Residuals

GIVEN = [
    (Huber, {}, {"cutoff": 0.5, "alpha": 30.0, "scaling": "none", "max_iter": 1}),
    (Reshaped, {"learner": Linear(alpha=5.0)}, {"learner": Boosting(max_iter=5), "scale": "yeo-johnson"}),
    (Residuals, {}, {"held_out": 0.3}),
]
EACH = [
    pytest.param(kind, usual, name, value, id=f"{kind.__name__}.{name}")
    for kind, usual, others in GIVEN
    for name, value in others.items()
]


def learned(value: object) -> np.ndarray:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) * [1, 10, 0.1]
    y = np.exp(X @ [0.5, 0.05, 5.0] + 0.2 * random.normal(size=200))
    y[:40] *= 10
    settings = (
        {"model": Network(6, solver=Descent(n_steps=30)), "search": value}
        if isinstance(value, Residuals)
        else {"model": value}
    )
    return PGSRegressor(**settings, random_state=0).fit(X, y, trusted=np.arange(200) >= 140).predict(X)


@pytest.mark.parametrize(("kind", "others"), [(kind, {**usual, **others}) for kind, usual, others in GIVEN])
def test_every_field_is_tried(kind, others):
    assert {field.name for field in fields(kind)} == others.keys()


@pytest.mark.parametrize(("kind", "usual", "name", "value"), EACH)
def test_every_field_changes_what_is_learned(kind, usual, name, value):
    before, after = (learned(kind(**settings)) for settings in (usual, {**usual, name: value}))
    assert np.isfinite(after).all()
    assert not np.array_equal(before, after)
