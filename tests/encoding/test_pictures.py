"""Pictures from hostile files, and thumbnails."""

import os
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from safegain.encoding import EncodingError, TableEncoder, images, thumbnail
from tests.encoding.samples import arrow, encode, random_pictures


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
