"""Columns of pictures, in an array or as paths of files: their pixels, or features of patches learned from them."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from PIL import Image
from sklearn.utils.extmath import randomized_svd

from safegain.data.inputs import MIXED_UNITS
from safegain.datasets.features import SIDE, Dictionary, PatchFeatures, learn_patch_features
from safegain.encoding.block import Block, comparable_scale, is_array
from safegain.encoding.columns import EncodingError, Values, as_texts, some_rows, take
from safegain.encoding.pictures import (
    GREY,
    BadPicture,
    are_pictures,
    from_pixels,
    open_picture,
    upright_pixels,
    upright_size,
)

USUAL_SIDE = 32  # of pictures of several sizes
LARGEST_SIDE = 64
MOST_FITTED = 5_000  # pictures that features are learned from
AT_ONCE = 256  # pictures
LEAST_SIDE, LEAST_PICTURES = 16, 500  # for patches
MOST_PIXELS = 3_072  # numbers in a picture; more are reduced
MOST_COMPONENTS = 512

Shape = tuple[int, ...]  # (height, width) of grey pictures, (height, width, 3) of coloured ones


def common_shape(name: Any, values: Values, rows: np.ndarray, folder: str | None) -> Shape:
    """One shape for these rows: their own if they agree, at most 64 pixels wide and high."""
    if isinstance(values, np.ndarray):
        _check_pictures(name, values)
        sizes, colour = {values.shape[1:3]}, values.shape[3:] in ((3,), (4,))
    else:
        sizes, colour = set(), False
        for row, text in zip(rows, as_texts(name, take(values, rows)), strict=True):
            try:
                image = open_picture(folder, text)
                sizes.add(upright_size(image, text))
            except BadPicture as problem:
                raise EncodingError(name, str(problem), row=int(row)) from None
            colour = colour or image.mode not in GREY
    height, width = sizes.pop() if len(sizes) == 1 else (USUAL_SIDE, USUAL_SIDE)
    shrink = min(1.0, LARGEST_SIDE / max(height, width))
    return (max(round(height * shrink), 1), max(round(width * shrink), 1), *((3,) if colour else ()))


def small_pictures(name: Any, values: Values, rows: np.ndarray, shape: Shape, folder: str | None) -> np.ndarray:
    """The pictures of some rows, brought to one shape: uint8 (len(rows), *shape)."""
    if isinstance(values, np.ndarray):
        _check_pictures(name, values)
        pictures = values[rows]
        pictures = pictures[..., 0] if pictures.shape[3:] == (1,) else pictures
        if pictures.shape[1:] == shape:
            return pictures
        images = [from_pixels(picture) for picture in pictures]
        return np.stack([np.empty(shape, np.uint8), *(_reshaped(image, shape) for image in images)])[1:]
    small = np.empty((len(rows), *shape), np.uint8)
    for i, text in enumerate(as_texts(name, take(values, rows))):
        try:
            small[i] = _reshaped(upright_pixels(open_picture(folder, text), text), shape)
        except BadPicture as problem:
            raise EncodingError(name, str(problem), row=int(rows[i])) from None
    return small


def _reshaped(image: Image.Image, shape: Shape) -> np.ndarray:
    image = image.convert("RGB" if len(shape) == 3 else "L")
    size = (shape[1], shape[0])
    return np.asarray(image if image.size == size else image.resize(size, Image.Resampling.BILINEAR))


def _check_pictures(name: Any, values: np.ndarray) -> None:
    if not are_pictures(values):
        raise EncodingError(
            name,
            "pictures must be uint8 (n, height, width) or (n, height, width, 1, 3 or 4), found "
            f"{values.dtype} {values.shape}; convert them",
        )


@dataclass(frozen=True, eq=False)
class Pictures(Block):
    """Features of pictures of one shape, divided by `scale`."""

    shape: Shape

    @abstractmethod
    def features(self, pictures: np.ndarray) -> np.ndarray:
        """float32 (n, len(columns)) of pictures (n, *shape)."""

    def write(self, values: Values, out: np.ndarray, folder: str | None) -> None:
        for start in range(0, len(values), AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, len(values)))
            out[rows] = self.features(small_pictures(self.name, values, rows, self.shape, folder))

    def fits_together(self) -> bool:
        sides, channels = self.shape[:2], self.shape[2:]
        return len(sides) == 2 and all(0 < side <= LARGEST_SIDE for side in sides) and channels in ((), (3,))


@dataclass(frozen=True, eq=False)
class Pixels(Pictures):
    """Pixels in [0, 1], or (pixels - mean) @ components.T where there are many."""

    mean: np.ndarray | None
    components: np.ndarray | None  # (k, n_pixels)
    scale: float

    @classmethod
    def fit(cls, name: str, pictures: np.ndarray, *, mixed: bool, random_state: int) -> "Pixels":
        flat = _flat(pictures)
        mean = flat.mean(axis=0)
        flat -= mean
        if flat.shape[1] <= MOST_PIXELS:
            spreads = np.sqrt(np.square(flat).mean(axis=0))
            return cls(name, pictures.shape[1:], None, None, comparable_scale(spreads) if mixed else 1.0)
        k = n_components(len(flat))
        _, values, components = randomized_svd(flat, k, n_oversamples=50, n_iter=4, random_state=random_state)
        spreads = telling(values / np.sqrt(len(flat)))
        scale = comparable_scale(spreads) if mixed else 1.0
        return cls(name, pictures.shape[1:], mean, np.ascontiguousarray(components[: len(spreads)]), scale)

    @property
    def columns(self) -> list[str]:
        n = int(np.prod(self.shape)) if self.components is None else len(self.components)
        return [f"{self.name} {j}" for j in range(n)]

    def features(self, pictures: np.ndarray) -> np.ndarray:
        flat = _flat(pictures)
        if self.components is not None:
            flat = (flat - self.mean) @ self.components.T
        return flat / np.float32(self.scale)

    def fits_together(self) -> bool:
        if not super().fits_together() or not self.scale > 0:
            return False
        if self.mean is None or self.components is None:
            return self.mean is self.components
        n = int(np.prod(self.shape))
        return is_array(self.mean, n) and is_array(self.components, None, n)


@dataclass(frozen=True, eq=False)
class Patches(Pictures):
    """`datasets.patch_features`, learned from some of the pictures."""

    patch_mean: np.ndarray
    whitening: np.ndarray
    atoms: np.ndarray
    mean: np.ndarray
    components: np.ndarray
    scale: float

    @classmethod
    def fit(cls, name: str, pictures: np.ndarray, *, mixed: bool, random_state: int) -> "Patches":
        if min(pictures.shape[1:3]) < SIDE:
            found = " x ".join(map(str, pictures.shape[1:3]))
            raise EncodingError(
                name, f"pictures of {found} are too small for patches of {SIDE} x {SIDE}; use image_features='pixels'"
            )
        k = n_components(len(pictures))
        learned, features = learn_patch_features(pictures, n_components=k, random_state=random_state)
        spreads = telling(np.sqrt(np.square(features).mean(axis=0)))
        unit = comparable_scale(spreads) if mixed else 1.0
        return cls(
            name,
            pictures.shape[1:],
            patch_mean=learned.dictionary.mean.numpy(),
            whitening=learned.dictionary.whitening.numpy(),
            atoms=learned.dictionary.atoms.numpy(),
            mean=learned.mean,
            components=learned.components[: len(spreads)],
            scale=(learned.scale or 1.0) * unit,
        )

    @property
    def columns(self) -> list[str]:
        return [f"{self.name} {j}" for j in range(len(self.components))]

    @cached_property
    def _learned(self) -> PatchFeatures:
        dictionary = Dictionary(*map(torch.tensor, (self.patch_mean, self.whitening, self.atoms)))
        return PatchFeatures(dictionary, True, self.mean, self.components, self.scale)

    def features(self, pictures: np.ndarray) -> np.ndarray:
        return self._learned(pictures)

    def fits_together(self) -> bool:
        if not super().fits_together() or len(self.shape) != 3 or min(self.shape[:2]) < SIDE or not self.scale > 0:
            return False
        patch = 3 * SIDE * SIDE
        return (
            is_array(self.patch_mean, patch)
            and is_array(self.whitening, patch, patch)
            and is_array(self.atoms, None, patch)
            and self.patch_mean.dtype == self.whitening.dtype == self.atoms.dtype == np.float32  # torch mixes no types
            and is_array(self.mean, 8 * len(self.atoms))
            and is_array(self.components, None, len(self.mean))
        )


def fit_pictures(
    name: str, values: Values, *, folder: str | None, features: str, mixed: bool, random_state: int
) -> Pictures:
    """Patches for many coloured pictures that are not tiny, or as `features` says; pixels for others."""
    rows = some_rows(len(values), MOST_FITTED, random_state)
    shape = common_shape(name, values, rows, folder)
    if features == "auto":
        large = len(shape) == 3 and min(shape[:2]) >= LEAST_SIDE
        features = "patches" if large and len(values) >= LEAST_PICTURES else "pixels"
    if features == "patches":
        shape = (*shape[:2], 3)
    kind = Patches if features == "patches" else Pixels
    pictures = small_pictures(name, values, rows, shape, folder)
    return kind.fit(name, pictures, mixed=mixed, random_state=random_state)


def n_components(n: int) -> int:
    """n pictures span n - 1 directions around their mean."""
    return max(min(MOST_COMPONENTS, n - 1), 1)


def telling(spreads: np.ndarray) -> np.ndarray:
    """Those of the first principal components: the last may be so small that they seem to be of another unit."""
    return spreads[: max(int((spreads * MIXED_UNITS > spreads[0]).sum()), 1)]


def _flat(pictures: np.ndarray) -> np.ndarray:
    flat = pictures.reshape(len(pictures), -1).astype(np.float32)
    flat /= 255
    return flat
