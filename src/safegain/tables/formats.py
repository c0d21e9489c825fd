"""Any file, by its suffix."""

from collections.abc import Collection
from pathlib import Path

from safegain.tables.csv_files import read_csv
from safegain.tables.files import readable, suffix_of
from safegain.tables.json_lines import read_json_lines
from safegain.tables.npz_files import read_npz
from safegain.tables.parquet_files import read_parquet
from safegain.tables.table import Table


def read_table(path: Path, *, text: Collection[str] = (), drop: Collection[str] = ()) -> Table:
    """A .csv, .tsv, .jsonl, .ndjson (each also with .gz behind), .parquet (also a folder of them) or .npz file.

    `text` names columns of a CSV file that stay as they are written; `drop` names columns that are not read.
    """
    with readable(path):
        is_folder = path.is_dir()
        path.stat()
    suffix = ".parquet" if is_folder else suffix_of(path)
    if suffix in (".csv", ".tsv"):
        return read_csv(path, text=text, drop=drop)
    read = {".parquet": read_parquet, ".npz": read_npz, ".jsonl": read_json_lines, ".ndjson": read_json_lines}[suffix]
    return read(path, drop=drop)
