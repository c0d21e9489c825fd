"""Real files of pictures."""

import numpy as np
import pytest

from safegain.datasets.images import load_cifar10, load_mnist
from tests.datasets.sources import real_data


@real_data
def test_mnist():
    bunch = load_mnist()
    assert bunch.data.shape == (70_000, 784)
    assert bunch.data.dtype == np.float32
    assert (bunch.data.min(), bunch.data.max()) == (0, 1)
    assert bunch.data[:60_000].mean() == pytest.approx(0.1307, abs=1e-4)
    assert bunch.n_train == 60_000
    assert np.bincount(bunch.target[60_000:]).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@real_data
def test_cifar10():
    bunch = load_cifar10()
    assert bunch.data.shape == (14_000, 32, 32, 3)
    assert bunch.data.dtype == np.uint8
    assert np.bincount(bunch.target[10_000:]).tolist() == [389, 392, 426, 389, 400, 388, 396, 397, 408, 415]
    wrong = {
        kind: round(100 * float((labels != bunch.target[:10_000]).mean()), 2) for kind, labels in bunch.human.items()
    }
    assert wrong == {"aggre": 9.12, "worse": 41.04, "random1": 17.82, "random2": 18.38, "random3": 17.87}
    assert bunch.class_names[bunch.target[0]] == "frog"
