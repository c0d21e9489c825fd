"""NPZ files: arrays with one row for each row of the table."""

import math
import zipfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pyarrow as pa

from safegain.tables.bad_file import BadFile, shown
from safegain.tables.cells import without_nan
from safegain.tables.files import check_file
from safegain.tables.table import Table, Values, kept_names
from safegain.tables.unpacking import check_unpacked


def read_npz(path: Path, *, drop: Collection[str]) -> Table:
    """1-D numbers and texts are columns, 2-D numbers an array, 3-D and 4-D uint8 pictures. Nothing is unpickled."""
    check_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info.filename.removesuffix(".npy") for info in archive.infolist()]
            kept = kept_names(path, members, drop)
            if not kept:
                raise BadFile(f"{path}: holds no array; save arrays with numpy.savez(file, name=array)")
            _check_size(path, archive, kept)
            for name in kept:
                _check_header(path, archive, name)
        with np.load(path, allow_pickle=False) as arrays:
            columns = {name: _column(path, name, arrays[name]) for name in kept}
    except BadFile:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise nearly anything on damaged bytes
        raise BadFile(f"{path}: is not a complete NPZ file ({error}); save it again with numpy.savez") from None
    lengths = {name: len(column) for name, column in columns.items()}
    first, n_rows = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != n_rows:
            raise BadFile(f"{path}: {shown(name)} has {length} rows, but {shown(first)} has {n_rows}; make them equal")
    if not n_rows:
        raise BadFile(f"{path}: has no rows; save it again")
    return Table(path, columns, n_rows)


def _check_size(path: Path, archive: zipfile.ZipFile, names: list[str]) -> None:
    size = sum(archive.getinfo(f"{name}.npy").file_size for name in names)
    check_unpacked(path, size, "save it uncompressed with numpy.savez")


def _check_header(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """Before anything is allocated: an array that the file can hold, and of a type that is read here."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    if dtype.hasobject:
        raise BadFile(f"{path}: {shown(name)} holds Python objects, which are not read; save numbers or texts")
    if dtype.kind not in "biufUSM" or dtype.itemsize == 0:
        raise BadFile(f"{path}: {shown(name)} holds {dtype}; save numbers or texts, or leave it out with --drop")
    if math.prod(shape) * dtype.itemsize > info.file_size:
        raise BadFile(f"{path}: {shown(name)} is cut short; save it again")
    if not _readable(len(shape), dtype, shape):
        raise BadFile(
            f"{path}: {shown(name)} is {len(shape)}-D {dtype} {shape}; save 1-D numbers or texts, 2-D numbers, or "
            "uint8 pictures (rows, height, width) or (rows, height, width, 1, 3 or 4)"
        )


def _readable(dimensions: int, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
    if dimensions == 1:
        return True
    if 0 in shape[1:]:
        return False
    if dimensions == 2:
        return dtype.kind in "biuf"
    return dtype == np.uint8 and (dimensions == 3 or (dimensions == 4 and shape[3] in (1, 3, 4)))


def _column(path: Path, name: str, array: np.ndarray) -> Values:
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    if array.ndim > 1:
        if array.dtype.kind == "f" and (bad := np.isinf(array).any(axis=1)).any():
            raise BadFile(f"{path}: row {bad.argmax()}, {shown(name)}: holds an infinite number; correct it")
        return array
    if array.dtype == np.uint64:
        array = array.astype(np.float64)
    if array.dtype.kind in "US":
        texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
        return pa.chunked_array([pa.array([str(text) or None for text in texts], pa.string())])
    return pa.chunked_array([without_nan(pa.array(array))])
