"""Data sets, made noise, splits and learned features."""

import contextlib
import hashlib
import http.server
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils import Bunch

from safegain import datasets
from safegain.datasets import features, files, origins, tables
from safegain.datasets.correction import correction_f1
from tests.problems import numpy_state

FOLDER = os.environ.get("SAFEGAIN_DATA", "")
real_data = pytest.mark.skipif(
    not (Path(FOLDER) / "mnist.npz").is_file(), reason="mnist.npz not found: set SAFEGAIN_DATA to the folder of data"
)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch) -> None:
    """The local server is asked directly."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def empty_folders(tmp_path, monkeypatch) -> SimpleNamespace:
    """A data folder and a cache with nothing in them."""
    folders = SimpleNamespace(data=tmp_path / "data", cache=tmp_path / "cache")
    folders.data.mkdir()
    monkeypatch.setenv("SAFEGAIN_DATA", str(folders.data))
    monkeypatch.setenv("SAFEGAIN_CACHE", str(folders.cache))
    return folders


# Noise ---------------------------------------------------------------------------------------------------------------

Y = np.arange(20_000) % 10


def within(found: float, rate: float, n: int) -> bool:
    """Five binomial standard deviations: a right maker fails once in two million times."""
    return abs(found - rate) <= 5 * np.sqrt(rate * (1 - rate) / n)


def test_uniform_flips_reach_every_other_class_equally():
    noisy = datasets.uniform_flips(Y, 0.45, random_state=1)
    assert within((noisy != Y).mean(), 0.45, len(Y))
    shifts = np.bincount((noisy - Y) % 10, minlength=10) / len(Y)
    assert all(within(share, 0.05, len(Y)) for share in shifts[1:])


def test_flips_reach_classes_that_do_not_occur():
    noisy = datasets.uniform_flips(np.zeros(1000, int), 0.5, classes=[0, 1, 2], random_state=0)
    assert set(noisy) == {0, 1, 2}


def test_pair_flips_go_to_the_next_class_in_the_order_given():
    names = np.array(["b", "a", "c"])
    y = names[np.arange(3000) % 3]
    noisy = datasets.pair_flips(y, 0.3, classes=names, random_state=0)
    following = {"b": "a", "a": "c", "c": "b"}
    changed = noisy != y
    assert within(changed.mean(), 0.3, len(y))
    assert (noisy[changed] == [following[label] for label in y[changed]]).all()


def test_transition_flips_follow_the_matrix():
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.1, 0.4, 0.5]])
    y = np.repeat([4, 5, 9], 10_000)
    noisy = datasets.transition_flips(y, matrix, random_state=3)
    for i, true in enumerate((4, 5, 9)):
        for j, given in enumerate((4, 5, 9)):
            assert within((noisy[y == true] == given).mean(), matrix[i, j], 10_000)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.45, 1.0])
def test_instance_flips_have_the_mean_rate_and_depend_on_the_row(rate):
    X = np.random.default_rng(0).normal(size=(len(Y), 5))
    noisy = datasets.instance_flips(X, Y, rate, random_state=0)
    assert within((noisy != Y).mean(), rate, len(Y))
    twins = datasets.instance_flips(np.concatenate([X, X]), np.concatenate([Y, Y]), 1.0, random_state=0)
    assert (twins[: len(Y)] == twins[len(Y) :]).all()  # the wrong class is the row's own, not a draw


def test_instance_flips_differ_within_a_class():
    X = np.random.default_rng(0).normal(size=(len(Y), 5))
    noisy = datasets.instance_flips(X, Y, 1.0, random_state=0)
    assert all(len(np.unique(noisy[code::10])) > 4 for code in range(10))  # of nine wrong classes


@pytest.mark.parametrize(
    ("maker", "mean_size"),
    [
        (lambda y: datasets.gaussian_noise(y, 2.0, random_state=0), 2 * np.sqrt(2 / np.pi)),
        (lambda y: datasets.laplace_noise(y, 2.0, random_state=0), 2.0),
        (lambda y: datasets.heavy_tailed_noise(y, 2.0, df=50.0, random_state=0), 2 * 0.81),
        (lambda y: datasets.gross_outliers(y, reach=4.0, fraction=0.5, random_state=0), 2.5),
    ],
)
def test_numeric_noise_has_its_size_on_its_fraction(maker, mean_size):
    y = np.linspace(0, 1, 20_000)
    change = maker(y) - y
    disturbed = change != 0
    assert disturbed.sum() == 10_000
    assert np.abs(change[disturbed]).mean() == pytest.approx(mean_size, rel=0.05)
    assert within((change[disturbed] > 0).mean(), 0.5, 10_000)


def test_heavy_tails_are_heavy():
    y = np.zeros(20_000)
    heavy = np.abs(datasets.heavy_tailed_noise(y, 1.0, fraction=1.0, random_state=0))
    light = np.abs(datasets.gaussian_noise(y, 1.0, fraction=1.0, random_state=0))
    assert light.max() < 10
    assert heavy.max() > 100
    assert np.median(heavy) < 1.5


def test_gross_outliers_leave_the_range():
    y = np.linspace(-1, 1, 1000)
    noisy = datasets.gross_outliers(y, fraction=0.2, random_state=0)
    assert (np.abs(noisy - y)[noisy != y] >= 2).all()
    assert (noisy != y).sum() == 200


def test_hidden_labels():
    whole = datasets.hide_labels(Y.astype(np.uint8), random_state=0)
    assert (whole == -1).sum() == 12_000
    assert (whole[whole != -1] == Y[whole != -1]).all()
    real = datasets.hide_labels(np.linspace(0, 1, 50), 0.3, random_state=0)
    assert np.isnan(real).sum() == 35
    with pytest.raises(ValueError, match=r"^y: "):
        datasets.hide_labels(np.array(["a", "b"]))


MAKERS = {
    "uniform": lambda y, s: datasets.uniform_flips(y, 0.4, random_state=s),
    "pair": lambda y, s: datasets.pair_flips(y, 0.4, random_state=s),
    "instance": lambda y, s: datasets.instance_flips(np.outer(y, [1.0, 2.0]), y, 0.4, random_state=s),
    "gaussian": lambda y, s: datasets.gaussian_noise(y, 0.4, random_state=s),
    "laplace": lambda y, s: datasets.laplace_noise(y, 0.4, random_state=s),
    "heavy": lambda y, s: datasets.heavy_tailed_noise(y, 0.4, random_state=s),
    "gross": lambda y, s: datasets.gross_outliers(y, random_state=s),
    "hide": lambda y, s: datasets.hide_labels(y, random_state=s),
    "split": lambda y, s: datasets.split_rows(len(y), sizes=(7, 1, 1, 1), random_state=s).train,
    "biased": lambda y, s: datasets.biased_split(y, sizes=(70, 10, 10, 10), random_state=s).trusted,
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_makers_are_repeatable_and_touch_nothing_else(maker):
    y = Y[:1000].copy()
    y.setflags(write=False)
    before = numpy_state(), random.getstate(), torch.get_rng_state()
    one, same, other = maker(y, 5), maker(y, 5), maker(y, 6)
    after = numpy_state(), random.getstate(), torch.get_rng_state()
    assert before[:2] == after[:2]
    assert torch.equal(before[2], after[2])
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not np.shares_memory(one, y)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: datasets.uniform_flips(Y, 1.2), "rate"),
        (lambda: datasets.pair_flips([1, 1], 0.5), "classes"),
        (lambda: datasets.pair_flips([1, 7], 0.5, classes=[1, 2]), "y"),
        (lambda: datasets.transition_flips([0, 1], np.eye(3)), "matrix"),
        (lambda: datasets.transition_flips([0, 1], [[0.5, 0.6], [0, 1]]), "matrix"),
        (lambda: datasets.transition_flips([0, 1], [[1.5, -0.5], [0, 1]]), "matrix"),
        (lambda: datasets.instance_flips(np.zeros((3, 1)), [0, 1], 0.5), "X"),
        (lambda: datasets.gaussian_noise([0.0], -1.0), "sigma"),
        (lambda: datasets.laplace_noise([0.0], np.nan), "scale"),
        (lambda: datasets.heavy_tailed_noise([0.0], 1.0, df=0.0), "df"),
        (lambda: datasets.gaussian_noise([0.0], 1.0, fraction=2.0), "fraction"),
        (lambda: datasets.gross_outliers([0.0], reach=0.5), "reach"),
        (lambda: datasets.hide_labels([0], 2.0), "labelled"),
        (lambda: datasets.split_rows(5, sizes=(3, 1, 1, 1)), "sizes"),
        (lambda: datasets.split_ratio(5, ratio=(1, 2)), "ratio"),
        (lambda: datasets.biased_split(Y, odds=(0, 0)), "odds"),
        (lambda: datasets.patch_features(np.zeros((2, 8, 8, 3))), "images"),
        (lambda: datasets.patch_features(np.zeros((2, 8, 8, 3), np.uint8), n_components=3), "n_components"),
        (lambda: datasets.load_regression("boston"), "name"),
        (lambda: datasets.load_table("iris"), "name"),
    ],
)
def test_errors_name_the_argument(call, argument):
    with pytest.raises(ValueError, match=f"^{argument}: "):
        call()


# Splits --------------------------------------------------------------------------------------------------------------


def parts(split: datasets.Split) -> list[np.ndarray]:
    return [split.train, split.validation, split.hyper, split.test]


def test_split_rows_and_ratio():
    split = datasets.split_rows(12_000, random_state=0)
    assert [len(part) for part in parts(split)] == [7000, 1000, 1000, 1000]
    assert len(np.unique(np.concatenate(parts(split)))) == 10_000
    split = datasets.split_ratio(252, random_state=0)
    assert [len(part) for part in parts(split)] == [176, 26, 25, 25]
    assert np.array_equal(np.sort(np.concatenate(parts(split))), np.arange(252))
    assert np.array_equal(split.trusted, np.r_[split.validation, split.hyper])


def test_biased_split_has_its_odds_exactly():
    split = datasets.biased_split(Y, random_state=0)
    assert [len(part) for part in parts(split)] == [7000, 1000, 1000, 1000]
    assert len(np.unique(np.concatenate(parts(split)))) == 10_000
    for part in (split.validation, split.hyper):
        assert (Y[part] < 5).sum() == 250
    assert within((Y[split.train] < 5).mean(), 0.5, 7000)
    assert within((Y[split.test] < 5).mean(), 0.5, 1000)


def test_biased_split_says_when_rows_run_out():
    with pytest.raises(ValueError, match=r"^sizes: 1500 trusted rows of the second half .* are left"):
        datasets.biased_split(Y[:10_100], random_state=0)


def test_assemble_puts_training_rows_first_and_spoils_only_them():
    X, true = np.arange(40.0).reshape(20, 2), np.arange(20)
    split = datasets.split_rows(20, sizes=(10, 3, 2, 4), random_state=0)
    problem = datasets.assemble(X, true, split, lambda y: y + 100)
    assert problem.trusted.tolist() == [False] * 10 + [True] * 5
    assert np.array_equal(problem.y[:10], split.train + 100)
    assert np.array_equal(problem.y[10:], split.trusted)
    assert np.array_equal(problem.true, np.r_[split.train, split.trusted])
    assert np.array_equal(problem.X[:, 0], 2.0 * problem.true)
    assert np.array_equal(problem.X_test[:, 0], 2.0 * problem.y_test)
    assert np.array_equal(problem.y_test, split.test)


def test_correction_f1():
    given, true = [0, 0, 0, 0, 1], [1, 1, 2, 0, 1]
    assert correction_f1(given, true, [1, 2, 0, 3, 1]) == pytest.approx(1 / 3)  # precision and recall are both 1/3
    assert correction_f1(given, true, true) == 1
    assert correction_f1(given, true, given) == 0
    assert correction_f1(true, true, true) == 1


# Files and downloads -------------------------------------------------------------------------------------------------


def test_search_order_and_checksum(empty_folders, monkeypatch, tmp_path):
    monkeypatch.setitem(files.SHA256, "a.csv", hashlib.sha256(b"good").hexdigest())
    assert files.find_file("a.csv") is None
    empty_folders.cache.mkdir()
    for folder in (empty_folders.cache, empty_folders.data, tmp_path):
        (folder / "a.csv").write_bytes(b"good")
        assert files.find_file("a.csv", data_dir=tmp_path if folder == tmp_path else None) == folder / "a.csv"
    (empty_folders.data / "a.csv").write_bytes(b"bad")
    with pytest.raises(ValueError, match="sha256") as error:
        files.find_file("a.csv")
    for words in (str(empty_folders.data / "a.csv"), files.SHA256["a.csv"], hashlib.sha256(b"bad").hexdigest()):
        assert words in str(error.value)


def test_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("SAFEGAIN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / "safegain"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / ".cache" / "safegain"


def test_missing_file_without_network_says_what_to_do(empty_folders, monkeypatch):
    monkeypatch.setattr(origins, "LIBSVM", "http://127.0.0.1:9/")  # nobody listens there
    with pytest.raises(FileNotFoundError) as error:
        datasets.load_regression("abalone")
    for words in ("abalone.csv", str(empty_folders.data), str(empty_folders.cache), "SAFEGAIN_DATA", "libsvmtools"):
        assert words in str(error.value)
    with pytest.raises(FileNotFoundError, match=r"ws_youtube.jsonl.gz was not found in .* WRENCH"):
        datasets.load_youtube()


def test_half_written_files_never_appear(tmp_path):
    def break_off(part: Path) -> None:
        part.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        files.write_atomically(tmp_path / "new" / "a.npz", break_off)
    assert list((tmp_path / "new").iterdir()) == []
    files.write_atomically(tmp_path / "new" / "a.npz", lambda part: np.savez(part, x=1))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.npz"]


CONTENT = np.random.default_rng(0).bytes(300_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@contextlib.contextmanager
def server(*, ranges: bool = True, cut: int | None = None, content: bytes = CONTENT) -> Iterator[SimpleNamespace]:
    """A server of one file; with `cut` it promises everything and hangs up after so many bytes."""
    asked: list[str | None] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Range"])
            start = int(asked[-1].removeprefix("bytes=").rstrip("-")) if ranges and asked[-1] else 0
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:] if cut is None else content[start:cut])

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield SimpleNamespace(url=f"http://127.0.0.1:{listening.server_port}/file", asked=asked)
        finally:
            listening.shutdown()
            thread.join()


@pytest.mark.parametrize("ranges", [True, False])
def test_download_goes_on_where_it_was_cut(tmp_path, ranges):
    path, part = tmp_path / "file", tmp_path / "file.part"
    with server(cut=100_000) as source, pytest.raises(OSError, match="100000 of 300000"):
        datasets.download(source.url, path, DIGEST)
    assert part.stat().st_size == 100_000
    assert not path.exists()
    with server(ranges=ranges) as source:
        datasets.download(source.url, path, DIGEST)
        assert source.asked == ["bytes=100000-"]
    assert path.read_bytes() == CONTENT
    assert not part.exists()


def test_download_starts_again_when_the_part_is_too_long(tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    with server() as source:
        datasets.download(source.url, tmp_path / "file", DIGEST)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_corrupted_download_is_removed(tmp_path):
    with server(content=b"x" + CONTENT[1:]) as source, pytest.raises(ValueError, match=DIGEST):
        datasets.download(source.url, tmp_path / "file", DIGEST)
    assert list(tmp_path.iterdir()) == []


# Origins: the network is replaced, the conversion is not -----------------------------------------------------------


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
@pytest.mark.parametrize("name", sorted(tables.CLASSES))
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


# Real files ----------------------------------------------------------------------------------------------------------


@real_data
def test_mnist():
    bunch = datasets.load_mnist()
    assert bunch.data.shape == (70_000, 784)
    assert bunch.data.dtype == np.float32
    assert (bunch.data.min(), bunch.data.max()) == (0, 1)
    assert bunch.data[:60_000].mean() == pytest.approx(0.1307, abs=1e-4)
    assert bunch.n_train == 60_000
    assert np.bincount(bunch.target[60_000:]).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@real_data
def test_cifar10():
    bunch = datasets.load_cifar10()
    assert bunch.data.shape == (14_000, 32, 32, 3)
    assert bunch.data.dtype == np.uint8
    assert np.bincount(bunch.target[10_000:]).tolist() == [389, 392, 426, 389, 400, 388, 396, 397, 408, 415]
    wrong = {
        kind: round(100 * float((labels != bunch.target[:10_000]).mean()), 2) for kind, labels in bunch.human.items()
    }
    assert wrong == {"aggre": 9.12, "worse": 41.04, "random1": 17.82, "random2": 18.38, "random3": 17.87}
    assert bunch.class_names[bunch.target[0]] == "frog"


@real_data
@pytest.mark.parametrize("name", sorted(tables.REGRESSION))
def test_regression_tables(name):
    table = tables.REGRESSION[name]
    bunch = datasets.load_regression(name)
    assert bunch.data.shape == (table.rows, len(bunch.feature_names))
    frame = pd.read_csv(Path(FOLDER) / table.file)
    assert list(frame.columns) == [*bunch.feature_names, "target"]
    table.check(frame, classes=False)
    assert np.array_equal(bunch.target, frame["target"])
    scaled = datasets.load_regression(name, scaled=True)
    for values in (scaled.data, scaled.target):
        assert np.abs(values.min(axis=0)).max() == 0
        assert np.abs(values.max(axis=0) - 1).max() == 0


@real_data
@pytest.mark.parametrize(("name", "classes"), [("letter", 26), ("pendigits", 10), ("spambase", 2)])
def test_class_tables(name, classes):
    bunch, table = datasets.load_table(name), tables.CLASSES[name]
    assert bunch.data.shape == (table.rows, len(table.features))
    counts = np.bincount(bunch.target)
    assert len(counts) == len(bunch.class_names) == classes
    assert (counts.min(), counts.max()) == table.bounds


@real_data
def test_youtube():
    bunch = datasets.load_youtube()
    assert bunch.weak_labels.shape == (1956, 10)
    assert [int((bunch.split == part).sum()) for part in ("train", "valid", "test")] == [1586, 120, 250]
    train = bunch.split == "train"
    assert np.bincount(bunch.target[train]).tolist() == [755, 831]
    votes, target = bunch.weak_labels[train], bunch.target[train]
    covered = (votes != -1).any(axis=1)
    assert round(100 * covered.mean(), 1) == 87.7
    lead = (votes == 1).sum(axis=1) - (votes == 0).sum(axis=1)
    assert ((lead > 0) == target)[lead != 0].mean() > 0.93


# Features ------------------------------------------------------------------------------------------------------------


def tiny_images(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 9, 8, 3), dtype=np.uint8)


def slow_codes(image: np.ndarray, dictionary: features.Dictionary) -> np.ndarray:
    """Patch by patch, in double precision, every step written out."""
    mean, whitening, atoms = (
        part.double().numpy() for part in (dictionary.mean, dictionary.whitening, dictionary.atoms)
    )
    rows, columns = image.shape[0] - 5, image.shape[1] - 5
    pooled = np.zeros((2, 2, 2 * len(atoms)))
    for r in range(rows):
        for c in range(columns):
            patch = image[r : r + 6, c : c + 6].transpose(2, 0, 1).flatten().astype(float)
            patch = (patch - patch.mean()) / np.sqrt(patch.var() + features.CONTRAST_FLOOR)
            z = atoms @ (whitening @ (patch - mean))
            code = np.concatenate([np.maximum(0, z - features.THRESHOLD), np.maximum(0, -z - features.THRESHOLD)])
            pooled[int(r >= rows / 2), int(c >= columns / 2)] += code
    return pooled.flatten()


@pytest.mark.parametrize("mirror", [False, True])
def test_codes_equal_a_slow_reference(monkeypatch, mirror):
    monkeypatch.setattr(features, "N_PATCHES", 500)
    images = tiny_images(3)
    dictionary = features.learn_dictionary(images, 7, 0)
    expected = np.array([slow_codes(image, dictionary) for image in images])
    if mirror:
        expected = (expected + np.array([slow_codes(image[:, ::-1], dictionary) for image in images])) / 2
    found = features.encode(images, dictionary, mirror=mirror)
    assert found.dtype == np.float32
    assert (expected > 0).any()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_whitening_whitens_and_atoms_are_unit(monkeypatch):
    monkeypatch.setattr(features, "N_PATCHES", 5000)
    dictionary = features.learn_dictionary(tiny_images(50), 20, 0)
    view = features._patch_view(tiny_images(50))
    white = (features._normalise(view) - dictionary.mean) @ dictionary.whitening
    covariance = white.T @ white / len(white)
    assert (covariance - torch.eye(108)).abs().max() < 0.3
    assert torch.allclose(dictionary.atoms.norm(dim=1), torch.ones(20))


def test_patch_features_are_principal_components(monkeypatch):
    monkeypatch.setattr(features, "N_PATCHES", 500)
    images = tiny_images(40)
    state = torch.get_rng_state()
    found = datasets.patch_features(images, n_atoms=6, n_components=20)
    assert torch.equal(state, torch.get_rng_state())
    assert np.array_equal(found, datasets.patch_features(images, n_atoms=6, n_components=20))
    assert found.shape == (40, 20)
    assert found.dtype == np.float32
    pooled = features.encode(images, features.learn_dictionary(images, 6, 0), mirror=True).astype(float)
    values = np.linalg.svd(pooled - pooled.mean(axis=0), compute_uv=False)[:20]
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), values * np.sqrt(800 / (values**2).sum()), rtol=1e-3)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-4)
    assert np.mean(found**2) == pytest.approx(1, rel=1e-4)


def test_features_are_cached_by_their_settings(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setenv("SAFEGAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(features, "load_cifar10", lambda data_dir: Bunch(data=tiny_images(30)))
    monkeypatch.setattr(features, "patch_features", lambda images, **given: calls.append(given) or np.ones(len(calls)))
    one = datasets.load_cifar10_features(n_atoms=5, n_components=4)
    assert np.array_equal(one, datasets.load_cifar10_features(n_atoms=5, n_components=4))
    assert len(datasets.load_cifar10_features(n_atoms=5, n_components=4, mirror=False)) == 2
    assert calls == [{"n_atoms": 5, "n_components": 4, "mirror": m} for m in (True, False)]


def test_labels_that_are_minus_one_cannot_be_hidden():
    with pytest.raises(ValueError, match="-1 is a class here"):
        datasets.hide_labels(np.array([-1, 1] * 5), random_state=0)
