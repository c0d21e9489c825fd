"""Linear models as learners."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from safegain import Free, Newton, PGSClassifier, PGSRegressor
from safegain.bilevel.models import Linear as LinearModel
from safegain.learners.linear import Linear
from tests.estimators.samples import noisy_diabetes, noisy_digits
from tests.learners.parts import parts_of


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_a_model_of_every_column_and_an_intercept(n_classes):
    setup = Linear(alpha=0.5, solver="newton").setup(parts_of(n_classes))
    assert isinstance(setup.model, LinearModel)
    assert (setup.alpha, setup.solver) == (0.5, "newton")
    assert setup.inputs.linear
    assert setup.model.outputs(setup.model.init(torch.Generator()), setup.inputs.rows(np.ones((2, 4)))).shape == (
        2,
        n_classes or 1,
    )


@pytest.mark.parametrize(("scaling", "mean", "spread"), [("auto", 0, 1), ("column", 0, 1), ("none", None, None)])
def test_scaling(scaling, mean, spread):
    parts = parts_of(None, n=50)
    inputs = Linear(scaling=scaling).setup(parts).inputs
    rows = inputs.rows(parts.weak.X).matmul(torch.eye(5, dtype=torch.float64))[:, :4]
    expected = parts.weak.X if mean is None else (parts.weak.X - parts.weak.X.mean(0)) / parts.weak.X.std(0)
    np.testing.assert_allclose(rows, expected, atol=1e-12)


def test_its_references_are_scikit_learns_models():
    """alpha/2 |theta|^2 beside a mean over rows is Ridge(alpha n / 2), and C = 1 / (alpha n)."""
    X, noisy, _, trusted = noisy_diabetes()
    weak, alpha = ~trusted, 0.01
    model = PGSRegressor(Linear(alpha, scaling="none"), search=Free(n_outer=1), reference="raw").fit(X, noisy, trusted)
    own = Ridge(alpha * weak.sum() / 2).fit(X[weak], noisy[weak])
    np.testing.assert_allclose(model.references_["raw"].predict(X), own.predict(X), rtol=1e-6)
    X, noisy, _, trusted = noisy_digits(400, k=3)
    X, weak = X / 16, ~trusted
    exact = Linear(alpha, Newton(1e-10), scaling="none")
    model = PGSClassifier(exact, search=Free(n_outer=1), reference="raw").fit(scipy.sparse.csr_array(X), noisy, trusted)
    own = LogisticRegression(C=1 / (alpha * weak.sum()), tol=1e-10, max_iter=2000).fit(X[weak], noisy[weak])
    np.testing.assert_allclose(model.references_["raw"].predict_proba(X), own.predict_proba(X), atol=1e-5)
