"""Features of small colour images learned without labels: whitened patches, k-means, pooling, PCA (Coates and Ng)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.utils.extmath import randomized_svd

from safegain.datasets.files import cache_dir, write_atomically
from safegain.datasets.images import load_cifar10

VERSION = 1  # part of the cached file's name: raise it when the numbers change
SIDE = 6  # of a patch
N_PATCHES = 200_000
STEPS = 20  # of k-means; the atoms hardly move after ten
CONTRAST_FLOOR = 10.0  # added to a patch's variance (pixels 0..255), so that flat patches stay flat
WHITENING_FLOOR = 0.1
THRESHOLD = 0.25
BLOCK = 4  # images encoded at once: few, so that their codes stay in the processor's cache


@dataclass(frozen=True)
class Dictionary:
    """Unit atoms (rows) for normalised patches p, whitened: the code of p is atoms @ whitening @ (p - mean)."""

    mean: torch.Tensor
    whitening: torch.Tensor
    atoms: torch.Tensor


def _patch_view(images: np.ndarray) -> torch.Tensor:
    """All patches of images (n, height, width, 3) as a view (n, rows, columns, 3, SIDE, SIDE)."""
    return torch.from_numpy(images).unfold(1, SIDE, 1).unfold(2, SIDE, 1)


def _normalise(patches: torch.Tensor) -> torch.Tensor:
    """Flat float patches, each with mean zero and a standard deviation of nearly one."""
    flat = patches.reshape(-1, 3 * SIDE * SIDE).float()
    flat = flat - flat.mean(dim=1, keepdim=True)
    return flat / (flat.square().mean(dim=1, keepdim=True) + CONTRAST_FLOOR).sqrt()


def learn_dictionary(images: np.ndarray, n_atoms: int, random_state: int) -> Dictionary:
    """ZCA and spherical k-means of random patches: each patch goes to the atom that it, or its negative, is nearest."""
    random = torch.Generator().manual_seed(random_state)
    view = _patch_view(images)
    picks = [torch.randint(size, (N_PATCHES,), generator=random) for size in view.shape[:3]]
    patches = _normalise(view[picks[0], picks[1], picks[2]])
    mean = patches.mean(dim=0)
    centred = patches - mean
    values, vectors = torch.linalg.eigh((centred.T @ centred / len(centred)).double())
    whitening = ((vectors / (values + WHITENING_FLOOR).sqrt()) @ vectors.T).float()
    white = centred @ whitening
    atoms = torch.nn.functional.normalize(torch.randn(n_atoms, white.shape[1], generator=random))
    for _ in range(STEPS):
        sums = atoms.clone()  # the old atom takes part, which keeps atoms without patches alive
        for block in white.split(10_000):
            codes = block @ atoms.T
            best = codes.abs().argmax(dim=1)
            sums.index_add_(0, best, block * codes.gather(1, best[:, None]))
        atoms = torch.nn.functional.normalize(sums)
    return Dictionary(mean, whitening, atoms)


def _quadrants(rows: int, columns: int) -> torch.Tensor:
    """Indicator (4, rows * columns) of the quarter of the picture in which a patch lies."""
    quarter = 2 * (torch.arange(rows) * 2 >= rows)[:, None] + (torch.arange(columns) * 2 >= columns)
    return (quarter.flatten() == torch.arange(4)[:, None]).float()


def encode(images: np.ndarray, dictionary: Dictionary, *, mirror: bool) -> np.ndarray:
    """Codes max(0, z - threshold) and max(0, -z - threshold), summed by quarter: (n, 4 * 2 * n_atoms) float32."""
    filters = (dictionary.atoms @ dictionary.whitening).T.contiguous()  # whitening is linear: no patch is whitened
    offset = -dictionary.mean @ filters
    view = _patch_view(images)
    pool = _quadrants(view.shape[1], view.shape[2])
    pooled = torch.empty(len(images), 4, 2 * filters.shape[1])

    def codes(patches: torch.Tensor) -> torch.Tensor:
        z = torch.addmm(offset, _normalise(patches), filters)
        shrunk = torch.nn.functional.softshrink(z, THRESHOLD).view(len(patches), pool.shape[1], -1)
        both = pool @ shrunk
        positive = pool @ shrunk.relu_()
        return torch.cat([positive, positive - both], dim=2)

    for start in range(0, len(images), BLOCK):
        block = slice(start, start + BLOCK)
        pooled[block] = codes(view[block])
        if mirror:
            pooled[block] = (pooled[block] + codes(_patch_view(images[block, :, ::-1].copy()))) / 2
    return pooled.flatten(1).numpy()


@dataclass(frozen=True)
class PatchFeatures:
    """What `learn_patch_features` learned, for other images of the same size: (codes - mean) @ components.T / scale."""

    dictionary: Dictionary
    mirror: bool
    mean: np.ndarray  # (8 * n_atoms,)
    components: np.ndarray  # (n_components, 8 * n_atoms), orthonormal rows
    scale: float

    def __call__(self, images: np.ndarray) -> np.ndarray:
        pooled = encode(np.ascontiguousarray(images), self.dictionary, mirror=self.mirror)
        pooled -= self.mean
        return (pooled @ self.components.T / np.float32(self.scale)).astype(np.float32)


def learn_patch_features(
    images: np.ndarray, *, n_atoms: int = 800, n_components: int = 512, mirror: bool = True, random_state: int = 0
) -> tuple[PatchFeatures, np.ndarray]:
    """`patch_features` for other images too, and those of the images that it learned from."""
    images = np.ascontiguousarray(images)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3 or min(images.shape[1:3]) < SIDE:
        raise ValueError(f"images: must be uint8 (n, height, width, 3), got {images.dtype} {images.shape}")
    if not 1 <= n_components <= min(len(images), 8 * n_atoms):
        raise ValueError(
            f"n_components: {len(images)} images and {n_atoms} atoms allow 1..{min(len(images), 8 * n_atoms)}, "
            f"got {n_components}"
        )
    dictionary = learn_dictionary(images, n_atoms, random_state)
    pooled = encode(images, dictionary, mirror=mirror)
    mean = pooled.mean(axis=0)
    pooled -= mean
    left, values, right = randomized_svd(pooled, n_components, n_oversamples=50, n_iter=4, random_state=random_state)
    features = left * values
    scale = np.sqrt(np.mean(features**2))
    learned = PatchFeatures(dictionary, mirror, mean, np.ascontiguousarray(right), float(scale))
    return learned, (features / scale).astype(np.float32)


def patch_features(
    images: np.ndarray, *, n_atoms: int = 800, n_components: int = 512, mirror: bool = True, random_state: int = 0
) -> np.ndarray:
    """Principal components of pooled patch codes: float32, centred, divided by one number to mean square one.

    With `mirror`, codes are averaged over an image and its left-right mirror image.
    """
    return learn_patch_features(
        images, n_atoms=n_atoms, n_components=n_components, mirror=mirror, random_state=random_state
    )[1]


def load_cifar10_features(
    *, data_dir: str | Path | None = None, n_atoms: int = 800, n_components: int = 512, mirror: bool = True
) -> np.ndarray:
    """`patch_features` of the rows of `load_cifar10`, computed once and kept in the cache."""
    kind = "mirror" if mirror else "plain"
    path = cache_dir() / f"cifar10_features_v{VERSION}_{n_atoms}_{n_components}_{kind}.npy"
    if not path.exists():
        images = load_cifar10(data_dir=data_dir).data
        features = patch_features(images, n_atoms=n_atoms, n_components=n_components, mirror=mirror)
        write_atomically(path, lambda part: np.save(part, features))
    return np.load(path)
