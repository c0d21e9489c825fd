"""NPZ files."""

import io
import zipfile

import numpy as np
import pytest

from safegain.tables import read_table, unpacking
from safegain.tables.npz_files import read_npz
from tests.tables.samples import complaint, problem


def test_arrays_and_pictures(tmp_path):
    n = 8
    arrays = {
        "v": np.arange(2.0 * n).reshape(n, 2),
        "grey": np.zeros((n, 4, 4), np.uint8),
        "colour": np.zeros((n, 4, 5, 3), np.uint8),
        "x": np.arange(n).astype(">f8") ** 2,
        "half": np.arange(n).astype(np.float16) / 2,
        "flag": np.arange(n) % 3 == 0,
        "y": np.array([b"a", b"b"] * (n // 2)),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    found = problem(tmp_path / "a.npz")
    assert found.kinds == {
        "v": "array",
        "grey": "image",
        "colour": "image",
        "x": "number",
        "half": "number",
        "flag": "number",
    }
    assert found.table.columns["v"].shape == (n, 2)
    assert found.table.columns["x"].to_pylist() == (np.arange(n) ** 2).tolist()
    assert found.table.columns["flag"].to_pylist() == (np.arange(n) % 3 == 0).astype(float).tolist()
    assert found.y.tolist() == ["a", "b"] * (n // 2)


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"x": np.array([{}], dtype=object)}, ["'x'", "Python objects"]),
        ({"x": np.zeros(3), "y": np.zeros(4)}, ["'y' has 4 rows", "'x' has 3"]),
        ({"x": np.zeros((3, 2, 2))}, ["'x'", "3-D float64"]),
        ({"x": np.zeros((3, 2, 2, 2), np.uint8)}, ["'x'", "4-D uint8"]),
        ({"x": np.zeros((3, 0))}, ["'x'", "2-D"]),
        ({"x": np.array(3.0)}, ["'x'", "0-D"]),
        ({"x": np.zeros(3, complex)}, ["'x'", "complex"]),
        ({"x": np.zeros(3, [("a", float)])}, ["'x'", "holds"]),
        ({"x": np.array([[1.0], [np.inf]])}, ["row 1", "'x'", "infinite"]),
        ({"x": np.zeros(0)}, ["no rows"]),
        ({}, ["no array"]),
    ],
)
def test_bad_arrays(tmp_path, arrays, parts):
    np.savez(tmp_path / "a.npz", **arrays)
    complaint(lambda: read_table(tmp_path / "a.npz"), tmp_path / "a.npz", *parts)


def test_a_file_that_would_fill_the_memory(tmp_path, monkeypatch):
    def declare(shape, body):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
        with (
            zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("x.npy", "w", force_zip64=True) as file,
        ):
            file.write(header.getvalue())
            for _ in range(body):
                file.write(bytes(1 << 20))

    declare((1 << 40,), 1)
    complaint(lambda: read_npz(tmp_path / "a.npz", drop=()), tmp_path / "a.npz", "'x'", "cut short")
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1 << 20)
    declare((3 << 17,), 3)
    complaint(lambda: read_table(tmp_path / "a.npz"), tmp_path / "a.npz", "would unpack to 3 MB")
