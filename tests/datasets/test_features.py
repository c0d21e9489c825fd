"""Learned features of pictures."""

import numpy as np
import pytest
import torch
from sklearn.utils import Bunch

from safegain import datasets
from safegain.datasets import features


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
