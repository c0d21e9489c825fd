"""Rows for tests of what is read in blocks."""

import numpy as np
import pytest

from tests.data.streamed import D, N


@pytest.fixture(scope="session")
def problem():
    random = np.random.default_rng(0)
    X = random.standard_normal((N, D)) * [1, 10, 0.1, 1, 2] + [0, 5, 0, -1, 0]
    y = X @ random.standard_normal(D) + random.standard_normal(N) * np.where(np.arange(N) % 2, 5, 0.1)
    trusted = random.random(N) < 0.02
    return X, np.where(~trusted & (random.random(N) < 0.1), np.nan, y), trusted
