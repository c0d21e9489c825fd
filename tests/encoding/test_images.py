"""Columns of pictures: pixels and patches."""

from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.decomposition import PCA

from safegain.datasets import features, patch_features
from safegain.encoding import EncodingError, TableEncoder, images, pictures, thumbnail
from tests.encoding.samples import arrow, encode, random_pictures, refused, stored, write_pictures


def test_text_and_paths_are_taken_as_they_are_written(tmp_path):
    Image.fromarray(random_pictures(6, 6, 3)).save(tmp_path / "007", format="PNG")
    column = pa.chunked_array([pa.array(["007"] * 4).dictionary_encode()])
    assert encode("image", column, folder=str(tmp_path)).shape == (4, 108)


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
