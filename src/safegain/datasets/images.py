"""MNIST and CIFAR-10 with the labels that people gave (CIFAR-10N)."""

from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from safegain.datasets.files import find_file, obtain
from safegain.datasets.origins import save_cifar10, save_mnist

CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
HUMAN = ("aggre", "worse", "random1", "random2", "random3")


def load_mnist(*, data_dir: str | Path | None = None) -> Bunch:
    """Digits: `data` float32 (70000, 784) in [0, 1], `target` 0..9; the first `n_train` rows are the training rows."""
    path = obtain("mnist.npz", data_dir=data_dir, convert=save_mnist, origin="OpenML data set 554 (mnist_784)")
    with np.load(path) as arrays:
        data = arrays["x"].reshape(len(arrays["y"]), -1).astype(np.float32)
        data /= 255
        return Bunch(
            data=data,
            target=arrays["y"].astype(np.int64),
            n_train=int(arrays["n_train"]),
            class_names=[str(digit) for digit in range(10)],
        )


def load_cifar10(*, data_dir: str | Path | None = None) -> Bunch:
    """Small photographs: `data` uint8 (14000, 32, 32, 3), `target` 0..9; the first `n_train` are training rows.

    `human` holds five human labellings of the training rows (CIFAR-10N) by name: aggre, worse, random1, random2,
    random3. It is empty where the images came from OpenML and cifar10n_labels.npz is not among the user's files.
    """
    path = obtain("cifar10.npz", data_dir=data_dir, convert=save_cifar10, origin="OpenML data set 40927 (CIFAR_10)")
    with np.load(path) as arrays:
        n_train = int(arrays["n_train"])
        human = _human_labels(path, n_train)
        if not human and (labels := find_file("cifar10n_labels.npz", data_dir=data_dir)):
            human = _human_labels(labels, n_train)
        return Bunch(
            data=arrays["x"],
            target=arrays["y"].astype(np.int64),
            n_train=n_train,
            class_names=list(CIFAR10_CLASSES),
            human=human,
        )


def _human_labels(path: Path, n_train: int) -> dict[str, np.ndarray]:
    with np.load(path) as arrays:
        return {kind: arrays[key][:n_train].astype(np.int64) for kind in HUMAN if (key := f"y_noisy_{kind}") in arrays}
