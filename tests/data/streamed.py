"""A regression whose rows are read in blocks."""

import numpy as np

from safegain import Free, PGSRegressor

N, D = 20_000, 5


def mapped(X, folder, *, order="C", dtype=None, mode="r"):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, np.asarray(X, dtype=dtype, order=order))
    return np.load(path, mmap_mode=mode)


def regressor(reference="best", **search):
    return PGSRegressor("linear", search=Free(**{"n_outer": 3} | search), reference=reference, random_state=0)


def same(a, b, rtol=0.0):
    for name in ("sample_weight_", "corrected_labels_"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(a.model_.theta, b.model_.theta, rtol=rtol, atol=rtol)
    assert a.safeness_.step == b.safeness_.step
