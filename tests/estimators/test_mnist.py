"""The MNIST bar of the core in short: the whole of it, with default settings and three seeds, is `make mnist`."""

import os
from pathlib import Path

import numpy as np
import pytest
from benchmarks.mnist import split
from sklearn.metrics import roc_auc_score

from safegain import Free, Network, PGSClassifier, Recipe
from safegain.datasets.correction import correction_f1

missing = not (Path(os.environ.get("SAFEGAIN_DATA", "")) / "mnist.npz").is_file()


@pytest.mark.skipif(missing, reason="mnist.npz not found: set SAFEGAIN_DATA to the folder that holds it")
def test_mnist_with_half_the_labels_flipped():
    made = split(seed=7)
    rows = np.r_[np.flatnonzero(~made.trusted)[:2500], np.flatnonzero(made.trusted)]
    X, noisy, true, trusted = made.X[rows], made.y[rows], made.true[rows], made.trusted[rows]
    network = Network(n_hidden=100, recipe=Recipe(n_steps=300))
    model = PGSClassifier(network, search=Free(n_outer=5), reference="raw", random_state=0)
    model.fit(X, noisy, trusted=trusted)
    weak = ~trusted
    assert roc_auc_score(noisy[weak] == true[weak], model.sample_weight_[weak]) > 0.88
    assert correction_f1(noisy[weak], true[weak], model.corrected_labels_[weak]) > 0.68
    assert (
        model.score(made.X_test, made.y_test)
        > (model.references_["raw"].predict(made.X_test) == made.y_test).mean() - 0.005
    )
