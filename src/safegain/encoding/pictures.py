"""Pictures from hostile files: bounded in bytes and pixels, inside one folder, and nothing but their pixels."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image, ImageOps

from safegain.encoding.columns import Values, shortened

MOST_BYTES = 20_000_000
MOST_PIXELS = 50_000_000
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP")
THUMBNAIL = 128  # pixels, the longer side
ORIENTATION = 0x0112  # EXIF: 5 to 8 are turned by a quarter
GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "F")


class BadPicture(ValueError):
    """What is wrong with a picture, and what to do; the caller knows its column and row."""


def picture_path(folder: str | Path | None, text: str | None) -> Path:
    """The file that a path from a table names: one that exists, inside the folder when all links are followed."""
    if not text:
        raise BadPicture("there is no path; give one, or leave the row out")
    shown = shortened(text)
    if folder is None:
        raise BadPicture(
            f"found the path {shown}, but no folder is given; pass folder=, the folder that paths start from"
        )
    try:
        root = Path(folder).resolve()
        path = (root / text).resolve()
        inside, there = path.is_relative_to(root), path.is_file()
    except (OSError, ValueError, RuntimeError):  # too long, a null byte, links in a circle
        raise BadPicture(f"{shown} is not the path of a file; correct it") from None
    if not inside:
        raise BadPicture(f"{shown} leaves the folder {shortened(str(folder))}; pictures must lie inside it")
    if not there:
        raise BadPicture(f"{shown} is not a file in {shortened(str(folder))}; correct the path, or leave the row out")
    return path


def open_picture(folder: str | Path | None, text: str | None) -> Image.Image:
    """A picture whose header is sound; its pixels are not read yet."""
    path, shown = picture_path(folder, text), shortened(text or "")
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise BadPicture(f"{shown} cannot be read ({error.strerror}); change its permissions") from None
    if len(data) > MOST_BYTES:
        raise BadPicture(f"{shown} is larger than {MOST_BYTES // 10**6} MB; make it smaller")
    try:
        image = Image.open(BytesIO(data), formats=FORMATS)
        too_large = image.width * image.height > MOST_PIXELS
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        too_large = True
    except Exception:  # whatever a damaged header leads Pillow to
        raise BadPicture(f"{shown} is not a PNG, JPEG, BMP, GIF or WEBP picture; convert it") from None
    if too_large:
        raise BadPicture(f"{shown} has more than {MOST_PIXELS // 10**6} million pixels; make it smaller")
    return image


@contextmanager
def _reading(text: str | None) -> Iterator[None]:
    """Pillow's readers raise whatever a damaged file leads them to."""
    try:
        yield
    except Exception:
        raise BadPicture(f"{shortened(text or '')} is damaged and cannot be read; replace the file") from None


def upright_size(image: Image.Image, text: str | None) -> tuple[int, int]:
    """(height, width) as the picture is to be seen."""
    with _reading(text):
        turned = image.getexif().get(ORIENTATION, 1) in (5, 6, 7, 8)
    return (image.width, image.height) if turned else (image.height, image.width)


def upright_pixels(image: Image.Image, text: str | None) -> Image.Image:
    """Its pixels in mode L or RGB, the right way up, on white where it is transparent."""
    with _reading(text):
        image.draft(None, (2 * THUMBNAIL, 2 * THUMBNAIL))  # a JPEG may be read at a fraction of its size
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I;16"):  # which Pillow would cut off at 255
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        if image.has_transparency_data:
            return _on_white(image)
        return image.convert("L" if image.mode in GREY else "RGB")


def _on_white(image: Image.Image) -> Image.Image:
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def are_pictures(values: np.ndarray) -> bool:
    """One a row: grey ones with or without a channel, coloured ones, with or without transparency."""
    channels = values.ndim == 3 or (values.ndim == 4 and values.shape[3] in (1, 3, 4))
    return channels and values.dtype == np.uint8 and 0 not in values.shape[1:]


def from_pixels(pixels: np.ndarray) -> Image.Image:
    """The picture of one row of these, in mode L or RGB, on white where it is transparent."""
    image = Image.fromarray(np.ascontiguousarray(pixels[..., 0] if pixels.shape[2:] == (1,) else pixels))
    return _on_white(image) if image.mode == "RGBA" else image


def thumbnail(values: Values, row: int, folder: str | Path | None) -> bytes | None:
    """PNG of one row's picture, at most 128 pixels wide and high; None where the row has no picture that can be shown.

    It is made anew from the pixels, so nothing else that a file may hold (places, comments, scripts) is handed on.
    """
    try:
        if isinstance(values, pa.ChunkedArray):
            text = values[row].as_py()
            image = upright_pixels(open_picture(folder, text if isinstance(text, str) else None), text)
        elif are_pictures(values):
            image = from_pixels(values[row])
        else:
            return None
    except BadPicture:
        return None
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    pixels = Image.fromarray(np.asarray(image))
    stream = BytesIO()
    pixels.save(stream, "PNG")
    return stream.getvalue()
