"""Columns to one matrix: every kind against scikit-learn, storing, hostile files, memory."""

import json
import os
import subprocess
import sys
import zlib
from datetime import date
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin
from safetensors.numpy import load, save
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from safegain import PGSClassifier
from safegain.data.inputs import fit_inputs
from safegain.datasets import features, patch_features
from safegain.encoding import EncodingError, TableEncoder, images, pictures, texts, thumbnail
from safegain.encoding.columns import canonical
from safegain.learners.recipe import Recipe


def arrow(values: list, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """A column in two chunks."""
    half = len(values) // 2
    whole = pa.array(values, kind)
    return pa.chunked_array([whole[:half], whole[half:]])


def encode(kind: str, values, **options) -> np.ndarray:
    return TableEncoder({"c": kind}, **options).fit_transform({"c": values})


def stored(encoder: TableEncoder) -> TableEncoder:
    facts, arrays = encoder.state()
    return TableEncoder.from_state(json.loads(json.dumps(facts)), load(save(arrays)))


WORDS = [f"w{i}" for i in range(40)]


def sentences(n: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(0, 12))) for _ in range(n)]


def mixed_table(n: int = 300, seed: int = 0) -> dict:
    random = np.random.default_rng(seed)
    return {
        "age": arrow([None if i % 9 == 0 else float(20 + i % 50) for i in range(n)]),
        "member": arrow([bool(i % 3) for i in range(n)]),
        "town": arrow([None if i % 11 == 0 else f"t{int(random.integers(60))}" for i in range(n)]),
        "words": arrow(sentences(n, seed)),
        "vector": np.where(random.random((n, 4)) < 0.1, np.nan, random.normal(size=(n, 4))),
        "face": random.integers(0, 256, (n, 5, 6, 3), dtype=np.uint8),
        "unused": arrow([object.__name__] * n),
    }


MIXED_KINDS = {
    "age": "number",
    "member": "number",
    "town": "category",
    "words": "text",
    "vector": "array",
    "face": "image",
}


# Numbers -------------------------------------------------------------------------------------------------------------


def test_missing_numbers_are_medians_with_an_indicator_as_in_scikit_learn():
    numbers = np.array([3.0, np.nan, 1.0, 10.0, np.nan, 2.5])
    found = encode("number", arrow([None if np.isnan(x) else x for x in numbers]))
    expected = SimpleImputer(strategy="median", add_indicator=True).fit_transform(numbers[:, None])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected - [[2.75, 0]])


def test_without_gaps_in_fit_there_is_no_indicator_and_a_later_gap_is_the_median():
    encoder = TableEncoder({"c": "number"}).fit({"c": arrow([1, 2, 9])})
    assert encoder.get_feature_names_out().tolist() == ["c"]
    assert encoder.transform({"c": arrow([None, 9])}).tolist() == [[0], [7]]


def test_numbers_are_standardised_beside_other_kinds_only():
    numbers = np.random.default_rng(0).lognormal(8, 1, 50)
    table = {"a": arrow(numbers.tolist()), "b": arrow((numbers * 1e-6).tolist()), "c": arrow(["x", "y"] * 25)}
    mixed = TableEncoder({"a": "number", "b": "number", "c": "category"}).fit_transform(table)
    scaled = StandardScaler().fit_transform(numbers[:, None])[:, 0]
    np.testing.assert_allclose(mixed[:, 0] - mixed[:, 0].mean(), scaled, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mixed[:, 0], mixed[:, 1], rtol=1e-4, atol=1e-6)
    assert set(mixed[:, 2:].ravel()) == {0, 1}
    alone = TableEncoder({"a": "number", "b": "number"}).fit_transform(table)
    np.testing.assert_allclose(alone[:, 0], numbers - np.median(numbers), rtol=1e-5, atol=1e-3)


def test_large_numbers_that_differ_little_stay_apart():
    seconds = 1_700_000_000 + np.arange(5)
    assert np.diff(encode("number", arrow(seconds.tolist()))[:, 0]).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "same",
    [
        arrow([1, 0, 3]),
        arrow(["1", " 0", "3.0"]),
        arrow([1.0, 0.0, 3.0], pa.float32()),
        arrow(["true", "FALSE", "3"]),
        np.array([1, 0, 3], dtype=np.uint8),
        np.array([1, False, "3"], dtype=object),
        [True, 0, "3"],
        pd.Series([1, 0, 3], dtype="Int64"),
        pa.chunked_array([pa.array(["1", "0", "3"]).dictionary_encode()]),
        [1, 0, 3],
    ],
)
def test_numbers_from_every_source(same):
    assert encode("number", same).tolist() == [[0], [-1], [2]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (arrow([1.0, 2.0, float("inf")]), "column 'c', row 2: found inf"),
        (arrow([1.0, 1e300, 2.0]), "column 'c', row 1: found 1e\\+300"),
        (arrow(["1", "2", "many"]), "column 'c', row 2: found 'many'"),
        (arrow(["1"] * 70_000 + ["x" * 500]), "column 'c', row 70000: found 'xxx[^\n]{50,60}\\.\\.\\.'"),
        (arrow([date(2020, 1, 1)]), "row 0: found '2020-01-01'"),
        (np.zeros((3, 2)), "column 'c': is an array of shape \\(3, 2\\)"),
        (np.array(3.0), "one value"),
        (arrow([[1], [2]]), "neither numbers nor text"),
        ([1, "a", {}], "row 2: holds dict values"),
        (["a", "\ud800", 1], "row 1: [^\n]*not valid Unicode"),
    ],
)
def test_what_is_no_number_is_named(values, message):
    with pytest.raises(EncodingError, match=message) as caught:
        encode("number", values)
    assert "\n" not in str(caught.value)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.none(), st.floats(-1e30, 1e30), st.integers(-(2**40), 2**40)), min_size=1, max_size=30))
def test_numbers_survive_storing(values):
    encoder = TableEncoder({"c": "number"}).fit({"c": pa.chunked_array([pa.array(values, pa.float64())])})
    table = {"c": np.array(values, dtype=object)}
    assert np.array_equal(encoder.transform(table), stored(encoder).transform(table))
    assert np.isfinite(encoder.transform(table)).all()


def test_a_new_number_too_far_from_the_fitted_ones_is_named():
    table = {"c": arrow([1e-30, 2e-30]), "k": arrow(["a", "b"])}
    encoder = TableEncoder({"c": "number", "k": "category"}).fit(table)
    with pytest.raises(EncodingError, match="column 'c', row 1") as caught:
        encoder.transform({**table, "c": arrow([1e-30, 1e20])})
    assert (caught.value.column, caught.value.row) == ("c", 1)


# Categories ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_categories", [3, 49, 50, 51, 120])
@pytest.mark.parametrize("n", [600, 5000])
def test_categories_are_scikit_learns(n_categories, n):
    drawn = np.random.default_rng(n_categories).zipf(1.3, n) % n_categories
    values = [f"k{i}" for i in [*drawn, *range(n_categories)]]
    oracle = OneHotEncoder(
        max_categories=50, min_frequency=0.001, handle_unknown="infrequent_if_exist", sparse_output=False
    ).fit(np.array(values, dtype=object)[:, None])
    encoder = TableEncoder({"c": "category"}).fit({"c": arrow(values)})
    new = [*values[:100], *values[-n_categories:], "never seen"]
    expected = oracle.transform(np.array(new, dtype=object)[:, None]).astype(np.float32)
    assert np.array_equal(encoder.transform({"c": arrow(new)}), expected)
    assert len(encoder.get_feature_names_out()) <= 50


def test_missing_is_a_category_if_it_was_seen():
    seen = TableEncoder({"c": "category"}).fit({"c": arrow(["a", None, "b", ""])})
    assert seen.get_feature_names_out().tolist() == ["c = a", "c = b", "c is missing"]
    assert seen.transform({"c": arrow([None, "b", "z"])}).tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
    unseen = TableEncoder({"c": "category"}).fit({"c": arrow(["a", "b"])})
    assert unseen.transform({"c": arrow([None, "a"])}).tolist() == [[0, 0], [1, 0]]


def test_missing_is_never_among_the_others():
    encoder = TableEncoder({"c": "category"}).fit({"c": arrow([*(f"k{i}" for i in range(80)), None])})
    names = encoder.get_feature_names_out().tolist()
    assert len(names) == 50
    assert names[-2:] == ["c = other", "c is missing"]
    assert encoder.transform({"c": arrow([None, "never seen"])})[:, -2:].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "same",
    [
        arrow([3, 7, 3]),
        arrow(["3", "7", "3"]),
        arrow([3.0, 7.0, 3.0]),
        arrow(["3.0", "07", " 3"]),
        np.array([3, "7", 3.0], dtype=object),
        pd.Series([3, 7, 3]).astype("category"),
        np.array(["3", "7", "3"]),
    ],
)
def test_a_number_is_the_same_category_from_every_source(same):
    encoder = TableEncoder({"c": "category"}).fit({"c": arrow([3, 7, 8])})
    assert encoder.transform({"c": same}).tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_text_of_values():
    pairs = {
        True: "true",
        " TRUE": "true",
        2.5: "2.5",
        "2.50": "2.5",
        "1e3": "1000",
        "": None,
        "nan": "nan",
        "1_0": "1_0",
    }
    assert {value: canonical(value) for value in pairs} == pairs
    assert canonical(float("nan")) is canonical(pd.NA) is canonical(pd.NaT) is None
    assert canonical("9" * 30) == "9" * 30
    assert canonical(2**60 + 1) == canonical(str(2**60 + 1))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.none(), st.text(max_size=5), st.integers(), st.booleans()), min_size=1, max_size=15))
def test_categories_survive_storing(values):
    try:
        encoder = TableEncoder({"c": "category"}).fit({"c": values})
    except EncodingError as error:
        assert "Unicode" in str(error)  # noqa: PT017  half of a surrogate pair
        return
    found = encoder.transform({"c": values})
    assert np.array_equal(found, stored(encoder).transform({"c": values}))
    assert (found.sum(axis=1) == 1).all()


# Texts ---------------------------------------------------------------------------------------------------------------


def test_few_terms_are_scikit_learns_tfidf():
    values = ["good film", "bad film film", "", "good good actor", "nothing"]
    oracle = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32)
    expected = oracle.fit_transform(values).toarray()
    encoder = TableEncoder({"c": "text"}).fit({"c": arrow([value or None for value in values])})
    assert np.array_equal(encoder.transform({"c": arrow(values)}), expected)
    assert encoder.get_feature_names_out().tolist() == [f"c: {term}" for term in oracle.get_feature_names_out()]
    new = ["a film that no one saw"]
    assert np.array_equal(encoder.transform({"c": arrow(new)}), oracle.transform(new).toarray())


def test_many_terms_are_scikit_learns_truncated_svd():
    values = sentences(600)
    rows = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, dtype=np.float32).fit_transform(values)
    assert rows.shape[1] > texts.MOST_DENSE
    expected = TruncatedSVD(256, random_state=3).fit(rows).transform(rows)
    found = encode("text", arrow(values), random_state=3)
    assert found.shape == (600, 256)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_column_without_words_is_left_out_and_nothing_but_it_is_refused():
    table = {"c": arrow(["", "?!", None]), "x": arrow([1, 2, 3])}
    assert TableEncoder({"c": "text", "x": "number"}).fit_transform(table).shape == (3, 1)
    with pytest.raises(ValueError, match="nothing is left"):
        TableEncoder({"c": "text"}).fit(table)


@pytest.mark.parametrize("n", [1, 2])
def test_one_long_text_will_do(n):
    assert encode("text", arrow([" ".join(f"w{i}" for i in range(900))] * n)).shape == (n, 1)


def test_text_and_paths_are_taken_as_they_are_written(tmp_path):
    Image.fromarray(random_pictures(6, 6, 3)).save(tmp_path / "007", format="PNG")
    column = pa.chunked_array([pa.array(["007"] * 4).dictionary_encode()])
    assert encode("image", column, folder=str(tmp_path)).shape == (4, 108)


def test_terms_are_learned_from_some_texts_where_there_are_many(monkeypatch):
    monkeypatch.setattr(texts, "MOST_FITTED", 50)
    assert encode("text", arrow(sentences(500))).shape[0] == 500


# Arrays --------------------------------------------------------------------------------------------------------------


def test_arrays_are_numbers_with_medians():
    array = np.random.default_rng(0).normal(size=(30, 3))
    array[4, 1] = np.nan
    filled = SimpleImputer(strategy="median").fit_transform(array)
    found = encode("array", array)
    np.testing.assert_allclose(found[:, :3], filled - np.median(filled, axis=0), rtol=1e-5, atol=1e-6)
    assert np.flatnonzero(found[:, 3]).tolist() == [4]
    assert np.isnan(array[4, 1])
    assert encode("array", array[:4].astype(np.float16)).shape == (4, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), "column 'c', row 1: found -inf \\(entry 1\\)"),
        (np.array([["a", "b"]]), "two dimensions, found <U1"),
        (np.zeros((2, 2, 2)), "two dimensions, found float64 \\(2, 2, 2\\)"),
        (arrow([1, 2]), "two dimensions, found one int64 a row"),
    ],
)
def test_what_is_no_array_is_named(values, message):
    with pytest.raises(EncodingError, match=message):
        encode("array", values)


def test_arrays_keep_their_width():
    encoder = TableEncoder({"c": "array"}).fit({"c": np.zeros((3, 2))})
    with pytest.raises(EncodingError, match="has 3 numbers a row, and had 2"):
        encoder.transform({"c": np.zeros((3, 3))})


# Images --------------------------------------------------------------------------------------------------------------


def random_pictures(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def write_pictures(folder: Path, some: np.ndarray, suffix: str = "png") -> list[str]:
    (folder / "in").mkdir(exist_ok=True)
    for i, picture in enumerate(some):
        Image.fromarray(picture).save(folder / "in" / f"{i}.{suffix}")
    return [f"in/{i}.{suffix}" for i in range(len(some))]


@pytest.mark.parametrize("shape", [(7, 9), (7, 9, 3)])
def test_pixels_from_files_and_from_an_array_are_the_same(tmp_path, shape):
    some = random_pictures(12, *shape)
    found = encode("image", some)
    np.testing.assert_allclose(found, some.reshape(12, -1) / 255, rtol=1e-6)
    assert np.array_equal(found, encode("image", arrow(write_pictures(tmp_path, some)), folder=str(tmp_path)))


def test_many_pixels_are_reduced_as_by_pca():
    some = random_pictures(40, 33, 32, 3)
    found = encode("image", some)
    assert found.shape == (40, 39)
    flat = some.reshape(40, -1) / 255
    expected = PCA(39, svd_solver="full").fit_transform(flat)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-2, atol=2e-2)


def test_transparent_pictures_lie_on_white_from_files_and_from_an_array(tmp_path):
    some = random_pictures(12, 7, 9, 4)
    some[0] = 0
    found = encode("image", some)
    assert (found[0] == 1).all()
    assert found.shape == (12, 7 * 9 * 3)
    assert np.array_equal(found, encode("image", arrow(write_pictures(tmp_path, some)), folder=str(tmp_path)))
    shown = np.asarray(Image.open(BytesIO(thumbnail(some, 5, None))))
    np.testing.assert_allclose(shown.ravel() / 255, found[5], atol=1e-6)


def test_shapes(tmp_path):
    def shape(values, **options) -> tuple[int, ...]:
        return TableEncoder({"c": "image"}, **options).fit({"c": values}).blocks_[0].shape

    assert shape(random_pictures(3, 200, 100)) == (64, 32)
    assert shape(random_pictures(3, 10, 10, 1)) == (10, 10)
    paths = write_pictures(tmp_path, random_pictures(2, 200, 100, 3))
    assert shape(arrow(paths), folder=str(tmp_path)) == (64, 32, 3)
    Image.fromarray(random_pictures(20, 40)).save(tmp_path / "other.gif")
    assert shape(arrow([*paths, "other.gif"]), folder=str(tmp_path)) == (32, 32, 3)


def test_files_of_all_sorts_are_read_alike(tmp_path):
    grey = Image.fromarray(np.full((8, 8), 200, np.uint8))
    grey.save(tmp_path / "grey.png")
    Image.fromarray(np.full((8, 8), 200 * 256, np.uint16)).save(tmp_path / "deep.png")
    grey.convert("RGB").save(tmp_path / "colour.bmp")
    grey.convert("RGB").save(tmp_path / "colour.webp", lossless=True)
    grey.convert("P").save(tmp_path / "palette.gif")
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    clear.save(tmp_path / "clear.png")
    names = ["grey.png", "deep.png", "colour.bmp", "colour.webp", "palette.gif", "clear.png"]
    found = encode("image", arrow(names), folder=str(tmp_path))
    np.testing.assert_allclose(found[:5], 200 / 255, atol=0.01)
    np.testing.assert_allclose(found[5], 1)
    turned = Image.fromarray(random_pictures(10, 20, 3))
    exif = turned.getexif()
    exif[pictures.ORIENTATION] = 6
    turned.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    assert pictures.upright_size(pictures.open_picture(tmp_path, "turned.jpg"), None) == (20, 10)
    upright = np.asarray(pictures.upright_pixels(pictures.open_picture(tmp_path, "turned.jpg"), None))
    expected = np.rot90(np.asarray(Image.open(tmp_path / "turned.jpg")), -1)
    assert np.array_equal(upright, expected)


def test_patch_features_apply_to_other_pictures(monkeypatch):
    monkeypatch.setattr(features, "N_PATCHES", 3000)
    some = random_pictures(30, 10, 10, 3)
    learned, found = features.learn_patch_features(some, n_atoms=10, n_components=29)
    assert np.array_equal(found, patch_features(some, n_atoms=10, n_components=29))
    np.testing.assert_allclose(learned(some), found, atol=1e-4)


def test_patches_are_taken_for_many_coloured_pictures(monkeypatch):
    monkeypatch.setattr(features, "N_PATCHES", 2000)
    monkeypatch.setattr(features, "STEPS", 2)
    monkeypatch.setattr(images, "LEAST_PICTURES", 20)
    some = random_pictures(20, 16, 16, 3)
    table = {"c": some}
    encoder = TableEncoder({"c": "image"}).fit(table)
    assert type(encoder.blocks_[0]) is images.Patches
    found = encoder.transform(table)
    assert np.array_equal(found, stored(encoder).transform(table))
    np.testing.assert_allclose(found, patch_features(some, n_components=19), atol=1e-3)
    for other in (some[:19], some[:, :15], some[..., 0]):
        assert type(TableEncoder({"c": "image"}).fit({"c": other}).blocks_[0]) is images.Pixels
    grey = TableEncoder({"c": "image"}, image_features="patches").fit({"c": some[..., 0]})
    assert grey.transform({"c": some[:3, ..., 0]}).shape == (3, 19)
    with pytest.raises(EncodingError, match="too small for patches"):
        TableEncoder({"c": "image"}, image_features="patches").fit({"c": some[:, :5]})


@pytest.mark.parametrize(
    "values", [np.zeros((2, 4, 4)), np.zeros((2, 4, 4, 2), np.uint8), np.zeros((2, 0, 4), np.uint8)]
)
def test_what_is_no_picture_is_named(values):
    with pytest.raises(EncodingError, match="column 'c': pictures must be uint8"):
        encode("image", values)


# Hostile files -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with one good picture, beside a secret one and links to it."""
    inside = tmp_path / "pictures"
    (inside / "deep").mkdir(parents=True)
    for path in (inside / "good.png", tmp_path / "secret.png", tmp_path / "pictures2.png"):
        Image.fromarray(random_pictures(6, 6, 3)).save(path)
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    (inside / "way").symlink_to(tmp_path)
    (inside / "circle").symlink_to("circle")
    (inside / "inner.png").symlink_to("good.png")
    os.mkfifo(inside / "pipe.png")
    return inside


LEAVING = [
    *(
        "../secret.png",
        "deep/../../secret.png",
        "../pictures2.png",
        "link.png",
        "way/secret.png",
        "..",
        "/",
        "/etc/passwd",
    ),
    *("deep/" + "../" * depth + "secret.png" for depth in range(2, 12)),
    *("./" * depth + "../secret.png" for depth in range(1, 8)),
    *("//etc/passwd", "/etc/passwd", "/proc/self/environ", "/dev/zero", "deep/../../../etc/passwd"),
]
NO_FILE = [
    *(
        "nothing.png",
        "deep",
        "pipe.png",
        "circle",
        "a\0b",
        "x" * 300,
        "x/" * 3000,
        ".",
        "~",
        "$HOME",
        "*",
        "good.png\n",
    ),
    *("http://host/a.png", "file:///etc/passwd", "%2e%2e/secret.png", "C:\\secret.png", "..\\secret.png", "\u202egnp"),
    *("good.png/../good.png/x", "' OR 1", "<script>alert(1)</script>"),
]


@pytest.mark.parametrize("path", LEAVING + NO_FILE)
def test_paths_out_of_the_folder_are_refused(folder, path):
    words = "leaves the folder" if path in LEAVING else "is not (a file in|the path of a file)"
    with pytest.raises(EncodingError, match=f"column 'c', row 1: [^\n]*{words}") as caught:
        encode("image", arrow(["good.png", path]), folder=str(folder))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert thumbnail(arrow(["good.png", path]), 1, folder) is None


def test_paths_inside_the_folder_are_read(folder):
    paths = ["good.png", "inner.png", "deep/../good.png", str(folder / "good.png")]
    assert len(np.unique(encode("image", arrow(paths), folder=str(folder)), axis=0)) == 1
    with pytest.raises(EncodingError, match="no folder is given"):
        encode("image", arrow(paths))


def bomb(side: int) -> bytes:
    """A small PNG that says it has side * side pixels."""
    stream = BytesIO()
    Image.new("L", (8, 8)).save(stream, "PNG")
    data = bytearray(stream.getvalue())
    data[16:24] = side.to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a PNG"),
        (b"not a picture", "is not a PNG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is not a PNG"),
        (b"GIF89a", "is not a PNG"),
        (bomb(7100), "has more than 50 million pixels"),
        (bomb(12_000), "has more than 50 million pixels"),
        (bomb(60_000), "has more than 50 million pixels"),
        (b"0" * 20_000_001, "is larger than 20 MB"),
    ],
    ids=["empty", "text", "postscript", "cut", "50", "144", "3600", "bytes"],
)
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_broken_files_are_named(folder, content, words):
    (folder / "bad.png").write_bytes(content)
    with pytest.raises(EncodingError, match=f"column 'c', row 2: 'bad.png' {words}"):
        encode("image", arrow(["good.png", "good.png", "bad.png"]), folder=str(folder))
    assert thumbnail(arrow(["bad.png"]), 0, folder) is None


@pytest.mark.parametrize("suffix", ["png", "jpg", "webp", "bmp", "gif"])
def test_damaged_pixels_are_named(folder, suffix):
    Image.fromarray(random_pictures(40, 40, 3)).save(folder / f"bad.{suffix}")
    whole = (folder / f"bad.{suffix}").read_bytes()
    (folder / f"bad.{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EncodingError, match=f"column 'c', row 1: 'bad.{suffix}' is (damaged|not a PNG)"):
        encode("image", arrow(["good.png", f"bad.{suffix}"]), folder=str(folder))
    assert thumbnail(arrow([f"bad.{suffix}"]), 0, folder) is None


def test_a_missing_path_is_named_in_transform_too(folder, monkeypatch):
    monkeypatch.setattr(images, "AT_ONCE", 2)
    encoder = TableEncoder({"c": "image"}, folder=str(folder)).fit({"c": arrow(["good.png"])})
    with pytest.raises(EncodingError, match="column 'c', row 5: there is no path"):
        encoder.transform({"c": arrow([*["good.png"] * 5, None])})


# Thumbnails ----------------------------------------------------------------------------------------------------------


def test_thumbnails_hold_pixels_and_nothing_else(tmp_path):
    picture = random_pictures(300, 150, 3)
    notes = PngImagePlugin.PngInfo()
    notes.add_text("secret", "where I live")
    Image.fromarray(picture).save(tmp_path / "a.png", pnginfo=notes, icc_profile=b"profile" * 9, dpi=(72, 72))
    small = thumbnail(arrow(["a.png"]), 0, tmp_path)
    image = Image.open(BytesIO(small))
    assert image.format == "PNG"
    assert image.size == (64, 128)
    assert image.info == {}
    assert {small[i : i + 4] for i in range(len(small)) if small[i : i + 4] in (b"tEXt", b"iCCP", b"eXIf")} == set()


def test_thumbnails_of_arrays_are_their_pixels():
    for shape in ((2, 8, 9), (2, 8, 9, 3), (2, 8, 9, 1)):
        some = random_pictures(*shape)
        shown = np.asarray(Image.open(BytesIO(thumbnail(some, 1, None))))
        assert np.array_equal(shown, some[1].squeeze())
    assert thumbnail(np.zeros((3, 64)), 0, None) is None
    assert thumbnail(np.zeros((3, 784), np.uint8), 0, None) is None
    assert thumbnail(arrow([1, 2]), 0, "/") is None


# The whole -----------------------------------------------------------------------------------------------------------


def test_a_mixed_table_survives_storing_bit_for_bit():
    encoder = TableEncoder(MIXED_KINDS).fit(mixed_table())
    new = mixed_table(n=80, seed=1)
    found = encoder.transform(new)
    again = stored(encoder)
    assert found.shape == (80, len(encoder.get_feature_names_out()))
    assert np.array_equal(found, again.transform(new))
    assert again.get_params() == encoder.get_params()
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    facts, arrays = encoder.state()
    assert len(json.dumps(facts, allow_nan=False)) < 5000
    assert all(array.flags.c_contiguous for array in arrays.values())


def test_blocks_count_as_one_number_beside_each_other():
    encoder = TableEncoder(MIXED_KINDS)
    found = encoder.fit_transform(mixed_table())
    names = encoder.get_feature_names_out()
    for column in ("age", "words", "vector", "face"):
        mine = [name.startswith(column) and "missing" not in name for name in names]
        assert found[:, mine].var(axis=0).sum() == pytest.approx(1, rel=1e-3)


def test_small_components_do_not_seem_to_be_of_another_unit():
    """Beside numbers, the estimator still divides all columns by one number."""
    random = np.random.default_rng(0)
    spreads = np.r_[np.full(20, 500.0), np.full(140, 10.0)]
    turn = np.linalg.qr(random.normal(size=(34 * 32 * 3, 160)))[0]
    pixels = 128 + (random.normal(size=(161, 160)) * spreads) @ turn.T
    table = {
        "x": arrow(random.normal(size=161).tolist()),
        "face": np.clip(pixels, 0, 255).astype(np.uint8).reshape(-1, 34, 32, 3),
    }
    found = TableEncoder({"x": "number", "face": "image"}, image_features="pixels").fit_transform(table)
    assert len(fit_inputs(found, model="mlp", scaling="auto").scale.unique()) == 1
    as_one_number = np.c_[found[:, 0], found[:, 1:] / np.sqrt(found[:, 1:].var(axis=0).sum())]
    assert len(fit_inputs(as_one_number, model="mlp", scaling="auto").scale.unique()) > 1
    assert images.telling(np.array([100.0, 5.0, 1.1, 0.9])).tolist() == [100, 5, 1.1]


def test_arrays_of_different_units_are_standardised_beside_other_kinds():
    array = np.random.default_rng(0).normal(size=(50, 5)) * [1e6, 1, 1, 1, 1]
    table = {"c": array, "k": arrow(["a", "b"] * 25)}
    found = TableEncoder({"c": "array", "k": "category"}).fit_transform(table)
    np.testing.assert_allclose(found[:, :5].var(axis=0), 0.2, rtol=1e-4)


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts, arrays: facts.pop("blocks"),
        lambda facts, arrays: facts["blocks"].pop(),
        lambda facts, arrays: facts["blocks"][0].update(block="os.system"),
        lambda facts, arrays: facts["blocks"][0].update(unknown=1),
        lambda facts, arrays: arrays.pop("4.centre"),
        lambda facts, arrays: facts["parameters"].update(kinds={"age": "nonsense"}),
        lambda facts, arrays: facts["parameters"].update(folder=5),
        lambda facts, arrays: facts["blocks"][0].update(scale="x"),
        lambda facts, arrays: facts["blocks"][0].update(scale=0.0),
        lambda facts, arrays: facts["blocks"][0].update(scale=True),
        lambda facts, arrays: facts["blocks"][0].update(centre=None),
        lambda facts, arrays: facts["blocks"][0].update(centre=10**400),
        lambda facts, arrays: facts["blocks"][0].update(gaps=1),
        lambda facts, arrays: facts["blocks"][2].update(categories=5),
        lambda facts, arrays: facts["blocks"][2].update(categories=["a", 5]),
        lambda facts, arrays: facts["blocks"][3].update(scale=-1.0),
        lambda facts, arrays: facts["blocks"][4].update(centre=arrays.pop("4.centre").tolist()),
        lambda facts, arrays: facts["blocks"][5].update(shape=[5, 6, 4]),
        lambda facts, arrays: facts["blocks"][5].update(shape=[10**6, 10**6, 3]),
        lambda facts, arrays: facts["blocks"][5].update(shape=[5.0, 6.0]),
        lambda facts, arrays: arrays.update({"3.terms": np.full(9, 255, np.uint8)}),
        lambda facts, arrays: arrays.update({"3.terms": np.frombuffer(b"a\na", np.uint8), "3.idf": np.ones(2)}),
        lambda facts, arrays: arrays.update({"3.idf": arrays["3.idf"][:-1]}),
        lambda facts, arrays: arrays.update({"3.idf": arrays["3.idf"] * np.nan}),
        lambda facts, arrays: arrays.update({"3.components": np.ones((2, 3))}),
        lambda facts, arrays: arrays.update({"4.scale": arrays["4.scale"][:-1]}),
        lambda facts, arrays: arrays.update({"4.scale": 0 * arrays["4.scale"]}),
        lambda facts, arrays: arrays.update({"5.mean": np.zeros(90)}),
        lambda facts, arrays: arrays.update({"5.mean": np.zeros(90), "5.components": np.zeros((2, 89))}),
    ],
)
def test_a_damaged_state_is_refused(damage):
    refused(*mixed_state(), damage)


@cache
def mixed_state() -> tuple[dict, dict]:
    return TableEncoder(MIXED_KINDS).fit(mixed_table()).state()


def refused(facts, arrays, damage) -> None:
    facts, arrays = json.loads(json.dumps(facts)), dict(arrays)
    TableEncoder.from_state(facts, arrays)
    damage(facts, arrays)
    with pytest.raises(ValueError, match="state: is not that of a TableEncoder"):
        TableEncoder.from_state(facts, arrays)


@pytest.mark.parametrize(
    "damage",
    [
        lambda facts, arrays: facts["blocks"][0].update(shape=[16, 16]),
        lambda facts, arrays: facts["blocks"][0].update(shape=[5, 5, 3]),
        lambda facts, arrays: facts["blocks"][0].update(scale=0.0),
        lambda facts, arrays: arrays.update({"0.atoms": arrays["0.atoms"][:-1]}),
        lambda facts, arrays: arrays.update({"0.atoms": arrays["0.atoms"].astype(float)}),
        lambda facts, arrays: arrays.update({"0.whitening": arrays["0.whitening"][:-1]}),
        lambda facts, arrays: arrays.update({"0.patch_mean": arrays["0.patch_mean"][:-1]}),
        lambda facts, arrays: arrays.update({"0.mean": arrays["0.mean"][:-1]}),
        lambda facts, arrays: arrays.update({"0.components": arrays["0.components"][:, :-1]}),
    ],
)
def test_a_damaged_state_of_patches_is_refused(damage):
    shapes = {"patch_mean": 108, "whitening": (108, 108), "atoms": (2, 108), "mean": 16, "components": (3, 16)}
    learned = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    encoder = TableEncoder({"c": "image"})
    encoder.blocks_ = [images.Patches("c", (16, 16, 3), **learned, scale=1.0)]
    assert stored(encoder).transform({"c": random_pictures(2, 16, 16, 3)}).shape == (2, 3)
    refused(*encoder.state(), damage)


def flat_kinds() -> dict:
    return {name: kind for name, kind in MIXED_KINDS.items() if kind not in ("array", "image")}


def as_frame(table: dict) -> pd.DataFrame:
    frame = pd.DataFrame({name: table[name].to_pandas() for name in flat_kinds()})
    return frame.set_index(frame.index + 5)


def test_a_frame_and_a_mapping_are_the_same():
    table = mixed_table()
    encoder = TableEncoder(flat_kinds()).fit(table)
    assert np.array_equal(encoder.transform(table), encoder.transform(as_frame(table)))
    assert np.array_equal(encoder.transform(table), clone(encoder).fit_transform(as_frame(table)))
    shuffled = as_frame(table)[list(flat_kinds())[::-1]]
    assert np.array_equal(encoder.transform(table), encoder.transform(shuffled))


def test_missing_and_uneven_columns_are_named():
    table = mixed_table()
    encoder = TableEncoder(MIXED_KINDS).fit(table)
    with pytest.raises(EncodingError, match="column 'town': is missing"):
        encoder.transform({name: table[name] for name in table if name != "town"})
    with pytest.raises(EncodingError, match="column 'town': has 10 rows, and column 'age' has 300"):
        encoder.transform({**table, "town": table["town"][:10]})
    frame = as_frame(table)
    twice = pd.concat([frame, frame[["age"]]], axis=1)
    with pytest.raises(EncodingError, match="column 'age': occurs more than once"):
        TableEncoder(flat_kinds()).fit(twice)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {}}, "kinds: must name"),
        ({"kinds": {"a": "date"}}, "kinds: 'a' has kind 'date'"),
        ({"kinds": {"a": "number"}, "image_features": "best"}, "image_features: 'best'"),
        ({"kinds": {"a": "number"}, "random_state": None}, "random_state: must be a whole number"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder(**options).fit({"a": arrow([1, 2])})


def test_no_rows():
    with pytest.raises(ValueError, match="X: has no rows"):
        TableEncoder({"a": "number"}).fit({"a": arrow([])})
    kinds = dict(MIXED_KINDS)
    encoder = TableEncoder(kinds).fit(mixed_table())
    empty = {name: values[:0] for name, values in mixed_table().items()}
    assert encoder.transform(empty).shape == (0, len(encoder.get_feature_names_out()))


def test_clone_and_parameters():
    encoder = TableEncoder({"a": "number"}, folder="x", random_state=3)
    assert clone(encoder).get_params() == encoder.get_params()
    assert clone(encoder).kinds is not encoder.kinds
    assert clone(encoder.fit({"a": arrow([1, 2])})).__sklearn_is_fitted__() is False
    assert "TableEncoder" in repr(encoder)


def test_the_input_is_not_changed():
    table = mixed_table()
    copies = {name: values.copy() for name, values in table.items() if isinstance(values, np.ndarray)}
    TableEncoder(MIXED_KINDS).fit_transform(table)
    for name, before in copies.items():
        assert np.array_equal(table[name], before, equal_nan=before.dtype.kind == "f")


def test_a_pipeline_with_pgs_predicts_from_a_frame():
    frame = as_frame(mixed_table(n=400))
    random = np.random.default_rng(0)
    frame["income"] = random.lognormal(10, 1, len(frame))
    truth = np.where((frame["income"] > np.exp(10)) ^ frame["words"].str.contains("w1"), "yes", "no")
    trusted = random.random(len(frame)) < 0.3
    noisy = np.where(~trusted & (random.random(len(frame)) < 0.2), np.where(truth == "yes", "no", "yes"), truth)
    encoder = TableEncoder({**flat_kinds(), "income": "number"})
    pipeline = Pipeline([("encoder", encoder), ("model", PGSClassifier(recipe=Recipe(n_steps=150), random_state=0))])
    pipeline.fit(frame, noisy, model__trusted=trusted)
    assert (pipeline.predict(frame) == truth).mean() > 0.75
    again = Pipeline([("encoder", stored(pipeline["encoder"])), ("model", pipeline["model"])])
    assert np.array_equal(again.predict_proba(frame), pipeline.predict_proba(frame))


MEMORY = """
import numpy as np, pyarrow as pa
from safegain.encoding import TableEncoder

def peak(reset=False):
    if reset:
        open("/proc/self/clear_refs", "w").write("5")
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

n, d = 1_000_000, 20
random = np.random.default_rng(0)
column = pa.chunked_array([pa.array(random.normal(size=n), mask=np.arange(n) % 9 == 0)])
table = {f"c{j}": column for j in range(d)}
some = {name: values[:1000] for name, values in table.items()}
encoder = TableEncoder(dict.fromkeys(table, "number")).fit(some)
encoder.transform(some)
before = peak(reset=True)
found = encoder.transform(table)
print((peak() - before - found.nbytes) / (8 * n))
before = peak(reset=True)
encoder.fit(table)
print((peak() - before) / (8 * n))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc")
def test_memory_beyond_input_and_result_is_a_few_columns():
    told = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout.split()
    transform, fit = map(float, told)
    assert transform < 1
    assert fit < 6
