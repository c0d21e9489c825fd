"""Files that would fill the memory: few bytes that stand for many."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from safegain.runs.folder import RunError, read_parquet
from safegain.tables import read_table, unpacking
from safegain.tables.parquet_files import read_parquet_blocks
from tests.tables.samples import complaint

N = 200_000


@pytest.fixture(autouse=True)
def _little(monkeypatch):
    monkeypatch.setattr(unpacking, "MOST_BYTES", 1 << 20)


def written(path, **columns):
    parquet.write_table(pa.table(columns), path, compression="zstd")
    return path


def test_rows_that_take_no_room_in_the_file(tmp_path):
    file = written(tmp_path / "a.parquet", x=np.zeros(N), y=np.zeros(N, dtype=np.int32))
    assert file.stat().st_size < 10_000
    complaint(lambda: read_table(file), file, "would unpack to 2 MB, far more than its size says")
    assert read_table(file, drop=["x"]).n_rows == N  # 800 kB
    assert sum(table.n_rows for table in read_parquet_blocks(file, ["x"])) == N  # a block at a time is no danger


def test_a_long_word_in_every_row(tmp_path):
    words = pa.DictionaryArray.from_arrays(np.zeros(2000, dtype=np.int32), ["long " * 5000])
    for text in (words, words.cast(pa.string()), words.cast(pa.large_string()), words.cast(pa.binary())):
        file = written(tmp_path / "a.parquet", text=text)
        assert file.stat().st_size < 40_000
        complaint(lambda file=file: read_table(file), file, "would unpack to 47 MB")
        complaint(lambda file=file: list(read_parquet_blocks(file, ["text"])), file, "would unpack to 47 MB")


def test_files_of_a_run(tmp_path):
    file = written(tmp_path / "labels.parquet", row=np.zeros(N, dtype=np.int64))
    with pytest.raises(RunError, match=r"labels\.parquet: is damaged .*would unpack to 1 MB"):
        read_parquet(file, {"row": pa.types.is_int64})


def test_true_sizes_pass(tmp_path):
    random = np.random.RandomState(0)
    words = np.array(["a word", "another"], dtype=object)[random.randint(2, size=N)]
    file = written(tmp_path / "a.parquet", x=random.normal(size=N), words=words)
    assert read_table(file).n_rows == N
