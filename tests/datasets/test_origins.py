"""The network is replaced; the conversion is not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from safegain import datasets
from safegain.datasets import files, origins, tables
from tests.datasets.sources import FOLDER, real_data, server


def test_libsvm_table_is_downloaded_converted_and_kept(empty_folders, monkeypatch):
    table = tables.Table("toy.csv", 3, "a b", (1, 3), libsvm="toy")
    monkeypatch.setitem(tables.REGRESSION, "toy", table)
    monkeypatch.setitem(files.SHA256, "toy.csv", "0")
    with server(content=b"1 1:5\n2 2:4.5\n3 1:-1 2:8\n") as source:
        monkeypatch.setattr(origins, "LIBSVM", source.url.removesuffix("file"))
        bunch = datasets.load_regression("toy")
        scaled = datasets.load_regression("toy", scaled=True)
        assert len(source.asked) == 1
    assert bunch.data.tolist() == [[5, 0], [0, 4.5], [-1, 8]]
    assert bunch.target.tolist() == [1, 2, 3]
    assert scaled.data.tolist() == [[1, 0], [1 / 6, 4.5 / 8], [0, 1]]
    assert scaled.target.tolist() == [0, 0.5, 1]


def test_a_table_that_has_changed_is_refused(empty_folders, monkeypatch):
    monkeypatch.setitem(tables.REGRESSION, "toy", tables.Table("toy.csv", 3, "a b", (1, 4), libsvm="toy"))
    monkeypatch.setitem(files.SHA256, "toy.csv", "0")
    with server(content=b"1 1:5\n2 2:4.5\n3 1:-1 2:8\n") as source:
        monkeypatch.setattr(origins, "LIBSVM", source.url.removesuffix("file"))
        with pytest.raises(ValueError, match="has changed"):
            datasets.load_regression("toy")
    assert [path for path in empty_folders.cache.rglob("*") if path.is_file()] == []


@real_data
@pytest.mark.parametrize("name", sorted(name for name, table in tables.CLASSES.items() if table.openml))
def test_openml_table_becomes_our_table(name, monkeypatch, tmp_path):
    expected = datasets.load_table(name)
    target = pd.Series(np.array(expected.class_names)[expected.target]).astype("category")
    answer = Bunch(data=pd.DataFrame(expected.data).add_prefix("V"), target=target)
    asked = []
    monkeypatch.setattr(origins, "fetch_openml", lambda **options: asked.append(options["data_id"]) or answer)
    monkeypatch.setenv("SAFEGAIN_DATA", str(tmp_path))
    monkeypatch.setenv("SAFEGAIN_CACHE", str(tmp_path))
    found = datasets.load_table(name)
    assert asked == [tables.CLASSES[name].openml]
    assert np.array_equal(found.data, expected.data)
    assert np.array_equal(found.target, expected.target)


@real_data
def test_openml_images_become_our_images(monkeypatch, tmp_path):
    expected = datasets.load_cifar10()
    full = np.zeros((60_000, 3072), dtype=np.uint8)
    y = np.zeros(60_000, dtype=int)
    rows = np.r_[0:10_000, 50_000:54_000]
    full[rows] = expected.data.transpose(0, 3, 1, 2).reshape(14_000, -1)
    y[rows] = expected.target
    monkeypatch.setattr(origins, "fetch_openml", lambda **_: Bunch(data=full, target=y.astype(str)))
    monkeypatch.setattr(np, "savez_compressed", np.savez)  # seconds, and not what is tested
    monkeypatch.setenv("SAFEGAIN_CACHE", str(tmp_path))
    found = datasets.load_cifar10(data_dir=tmp_path)
    assert np.array_equal(found.data, expected.data)
    assert np.array_equal(found.target, expected.target)
    assert found.human == {}
    (tmp_path / "cifar10n_labels.npz").symlink_to(Path(FOLDER).resolve() / "cifar10n_labels.npz")
    human = datasets.load_cifar10(data_dir=tmp_path).human
    assert human.keys() == expected.human.keys() == {"aggre", "worse", "random1", "random2", "random3"}
    assert all(np.array_equal(human[kind], labels) for kind, labels in expected.human.items())
    y[0] = (y[0] + 1) % 10
    (tmp_path / "converted" / "cifar10.npz").unlink()
    with pytest.raises(ValueError, match="class counts"):
        datasets.load_cifar10(data_dir=tmp_path)


@real_data
def test_openml_digits_become_our_digits(monkeypatch, tmp_path):
    expected = datasets.load_mnist()
    answer = Bunch(data=np.round(255 * expected.data), target=expected.target.astype(str))
    monkeypatch.setattr(origins, "fetch_openml", lambda **_: answer)
    monkeypatch.setattr(np, "savez_compressed", np.savez)
    monkeypatch.setenv("SAFEGAIN_CACHE", str(tmp_path))
    found = datasets.load_mnist(data_dir=tmp_path)
    assert np.array_equal(found.data, expected.data)
    assert np.array_equal(found.target, expected.target)
    assert found.n_train == expected.n_train
