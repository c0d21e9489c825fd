"""The nearest trusted row against scikit-learn's neighbours."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from safegain.baselines.neighbour import NearestNeighbour
from tests.baselines.samples import SHORT, digits


@pytest.mark.parametrize("mixed_units", [False, True])
def test_nearest_neighbour_is_scikit_learns(mixed_units):
    X, y, _, trusted = digits()
    X = X[:, X.std(axis=0) > 0]
    y = np.where(~trusted & (np.arange(len(y)) % 5 == 0), -1, y)
    if mixed_units:
        X[:, 0] *= 1e5
    model = NearestNeighbour(**SHORT).fit(X, y, trusted=trusted)
    Z = StandardScaler().fit(X[~model.held_out_]).transform(X) if mixed_units else X
    guides = trusted & ~model.held_out_
    expected = np.where(trusted, y, KNeighborsClassifier(1).fit(Z[guides], y[guides]).predict(Z))
    np.testing.assert_array_equal(model.corrected_labels_, np.where(trusted, y, expected))
    assert (model.corrected_labels_ != y).mean() > 0.2
