"""The public origins of the data sets, read into our layouts: tables with a last column `target`, arrays of images."""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_svmlight_file

from safegain.datasets.files import cache_dir
from safegain.datasets.web import download

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression/"


def libsvm_table(name: str, feature_names: tuple[str, ...]) -> pd.DataFrame:
    """A regression set of the LIBSVM page, whose columns are numbered and get our names."""
    path = cache_dir() / "libsvm" / name
    download(LIBSVM + name, path)
    try:
        data, target = load_svmlight_file(str(path), n_features=len(feature_names))
    finally:
        path.unlink()  # the converted table is what is kept, and a file that is no table must not be met again
    return pd.DataFrame(data.toarray(), columns=list(feature_names)).assign(target=target)


def openml_table(data_id: int, feature_names: tuple[str, ...]) -> pd.DataFrame:
    """A set of OpenML, its features in their order there, under our names."""
    bunch = fetch_openml(data_id=data_id, data_home=str(cache_dir()), as_frame=True)
    if bunch.data.shape[1] != len(feature_names):
        raise ValueError(f"OpenML {data_id}: {bunch.data.shape[1]} features found, {len(feature_names)} expected")
    return bunch.data.set_axis(list(feature_names), axis=1).assign(target=bunch.target)


def openml_images(data_id: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, *shape) and classes, both uint8, of a set of OpenML whose columns are pixels 0..255."""
    bunch = fetch_openml(data_id=data_id, data_home=str(cache_dir()), as_frame=False)
    return bunch.data.astype(np.uint8).reshape(-1, *shape), bunch.target.astype(np.uint8)


def save_mnist(path: Path) -> None:
    """OpenML's MNIST, 60,000 training rows first, as mnist.npz."""
    x, y = openml_images(554, (28, 28))
    _check_counts("MNIST", y[:60_000], [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949])
    _check_counts("MNIST", y[60_000:], [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009])
    np.savez_compressed(path, x=x, y=y, n_train=60_000)


def save_cifar10(path: Path) -> None:
    """The first 10,000 training and 4,000 test rows of OpenML's CIFAR-10 as cifar10.npz, without human labels."""
    x, y = openml_images(40927, (3, 32, 32))
    x = np.concatenate([x[:10_000], x[50_000:54_000]]).transpose(0, 2, 3, 1)
    y = np.concatenate([y[:10_000], y[50_000:54_000]])
    _check_counts("CIFAR-10", y[:10_000], [1005, 974, 1032, 1016, 999, 937, 1030, 1001, 1025, 981])
    _check_counts("CIFAR-10", y[10_000:], [389, 392, 426, 389, 400, 388, 396, 397, 408, 415])
    np.savez_compressed(path, x=x, y=y, n_train=10_000)


def _check_counts(name: str, y: np.ndarray, expected: list[int]) -> None:
    found = np.bincount(y, minlength=len(expected)).tolist()
    if found != expected:
        raise ValueError(f"{name}: class counts should be {expected}, found {found}; the download is not the same set")
