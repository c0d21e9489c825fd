"""Bad input is named, and leaves the estimator as it was."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from safegain import Descent, Free, GradientDescent, MultiMeasure, Network, PerClass, PerGroup, PerView, PGSClassifier
from tests.estimators.samples import model_of, noisy_digits, put


def bad(X=None, y=None, trusted=None, **settings):
    good = noisy_digits(120, k=3)
    X = good[0] if X is None else X(good[0].copy()) if callable(X) else X
    y = good[1] if y is None else y(good[1].copy()) if callable(y) else y
    trusted = good[3] if trusted is None else trusted(good[3].copy()) if callable(trusted) else trusted
    return X, y, trusted, settings


BAD = {
    "NaN names the column": (bad(X=lambda X: put(X, (5, 7), np.nan)), r"X: column 7 holds 1 NaN and 0 inf"),
    "inf names the column": (bad(X=lambda X: put(X, (5, 3), np.inf)), r"X: column 3 holds 0 NaN and 1 inf"),
    "NaN names the column of a frame": (
        bad(X=lambda X: pd.DataFrame(put(X, (5, 7), np.nan), columns=[f"f{i}" for i in range(64)])),
        r"X: column 'f7' holds 1 NaN",
    ),
    "NaN in sparse rows": (
        bad(X=lambda X: scipy.sparse.csr_matrix(put(X, (5, 9), np.nan)), model="linear"),
        r"X: column 9",
    ),
    "mask of another length": (bad(trusted=lambda t: t[:-1]), r"trusted: the mask has 119 entries and X has 120"),
    "row numbers out of range": (bad(trusted=[0, 500]), r"trusted: row numbers must lie in 0\.\.119"),
    "row numbers twice": (bad(trusted=lambda t: t.astype(int)), r"trusted: a row number occurs twice"),
    "trusted of another kind": (bad(trusted=lambda t: t.astype(float)), r"trusted: must be a boolean mask"),
    "trusted row without a label": (
        bad(y=lambda y: put(y, 3, None), trusted=[0, 3, 6]),
        r"trusted: row 3 is trusted but has no label",
    ),
    "every row trusted": (bad(trusted=lambda t: np.ones(120, bool)), r"trusted: every row is trusted"),
    "class of trusted rows only": (
        bad(y=lambda y: np.where(np.arange(120) < 6, 2, y % 2), trusted=range(6)),
        r"y: class 2 has no labelled row outside the trusted rows",
    ),
    "category without a row": (
        bad(y=lambda y: pd.Series(pd.Categorical(y, categories=[0, 1, 2, 3]))),
        r"y: class 3 .* no row carries it",
    ),
    "one class": (bad(y=lambda y: np.zeros(120, int)), r"y: found one class only"),
    "no label at all": (bad(y=lambda y: np.full(120, np.nan)), r"y: no row has a label"),
    "one trusted row": (bad(trusted=[4]), r"trusted: found 1 trusted rows; at least 2"),
    "continuous labels": (bad(y=lambda y: y + 0.5 * np.sin(np.arange(120))), r"y: Unknown label type: continuous"),
    "eps1 too large": (bad(search=Free(eps1=1e6)), r"eps1: the weights of 80 weak rows cannot sum to"),
    "eps2 too large": (bad(search=Free(eps2=1.5)), r"eps2: is a mean probability of classes, at most 1, got 1.5"),
    "no rows": (bad(X=np.empty((0, 3)), y=np.empty(0), trusted=np.empty(0, bool)), r"X: Found array with 0 sample"),
    "labels and rows of different length": (bad(y=lambda y: y[:-1]), r"y: has 119 labels and X has 120 rows"),
    "module with too few outputs": (
        bad(model=torch.nn.Linear(64, 2)),
        r"model: the module gives outputs of shape \(2, 2\) for 2 rows; it must give 3 logits",
    ),
    "module that does not take the rows": (
        bad(model=torch.nn.Linear(7, 3)),
        r"model: the module fails on a batch of shape \(2, 64\), with RuntimeError",
    ),
    "module without parameters": (bad(model=torch.nn.Flatten()), r"model: the module has no parameters"),
    "a Hessian too large to factor": (
        bad(model=Network(n_hidden=400), search=Free(engine="cholesky")),
        r"engine: 'cholesky' would factor",
    ),
    "an indefinite Hessian": (
        bad(model=model_of("network", 30, n_hidden=5), search=Free(engine="cholesky")),
        r"engine: the Hessian .* not positive",
    ),
    "sparse rows for a network": (
        bad(X=lambda X: scipy.sparse.csr_matrix(X), model="network"),
        r"X: sparse rows need a linear model",
    ),
    "groups missing": (bad(safeness=PerGroup(), model="linear"), r"PerGroup: needs the group of every row"),
    "view of an unknown column": (bad(safeness=PerView({"a": ["nose"]}), model="linear"), r"no column 'nose'"),
    "class that no trusted row has": (bad(safeness=PerClass([7]), model="linear"), r"no trusted row has class 7"),
    "measure of the other task": (
        bad(safeness=MultiMeasure("squared_error"), model="linear"),
        r"squared_error does not fit",
    ),
    "closed form for classes": (
        bad(model=Network(solver="closed-form")),
        r"solver: ClosedForm is for a linear model of numbers",
    ),
    "unrolled without steps": (
        bad(model="linear", search=Free(engine="unrolled")),
        r"engine: 'unrolled' and 'truncated' walk back",
    ),
    "diverging descent": (
        bad(model=Network(solver=Descent(GradientDescent(1e6), n_steps=300))),
        r"solver: training on the raw labels diverged",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_and_leaves_the_estimator_unfitted(name):
    (X, y, trusted, settings), message = BAD[name]
    estimator = PGSClassifier(
        **{"model": model_of("network", 5), "search": Free(n_outer=1), "reference": "raw"} | settings
    )
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y, trusted=trusted)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    assert not hasattr(estimator, "n_features_in_")
