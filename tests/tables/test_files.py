"""Files before they are parsed."""

import gzip
from pathlib import Path

import pytest

from safegain.tables.bad_file import BadFile
from safegain.tables.files import check_text, check_utf8, digest_of, lines_of, suffix_of
from tests.tables.samples import complaint, put


def test_suffixes():
    found = [suffix_of(Path(name)) for name in ("a.CSV", "a.csv.gz", "a.b.ndjson.GZ", "a.parquet")]
    assert found == [".csv", ".csv", ".ndjson", ".parquet"]
    for name in ("a.parquet.gz", "a", "a.xlsx"):
        with pytest.raises(BadFile, match="this type of file is not supported"):
            suffix_of(Path(name))


def test_digests_tell_contents_apart(tmp_path):
    one, other = put(tmp_path / "a", "x"), put(tmp_path / "b", "y")
    assert len({digest_of(one), digest_of(other), digest_of(tmp_path), digest_of(tmp_path / "none")}) == 4
    before = digest_of(tmp_path)
    put(other, "z")
    assert digest_of(tmp_path) != before


def test_a_line_end_that_two_reads_split_counts_once(tmp_path):
    """The first eight bytes are looked at by themselves."""
    for line_end in ("\n", "\r\n", "\r"):
        file = put(tmp_path / "a.csv", "a,b,c,d"[: 8 - len(line_end[:1])] + line_end + "1,2\0")
        complaint(lambda file=file: check_text(file), file, "line 2: ", "NUL")


def test_quotes_that_may_be_open(tmp_path):
    assert check_text(put(tmp_path / "a.csv", 'a,"b\n'))
    assert not check_text(put(tmp_path / "a.csv", 'a,"b"\n'))


def test_lines_without_their_bom_however_they_end(tmp_path):
    content = b"\xef\xbb\xbfa\r\nb\rc\n"
    for file in (put(tmp_path / "a.csv", content), put(tmp_path / "a.csv.gz", gzip.compress(content))):
        assert list(lines_of(file)) == ["a\n", "b\n", "c\n"]
    bad = put(tmp_path / "b.csv", b"a\r\xe9\n")
    complaint(lambda: check_utf8(bad), bad, "line 2", "UTF-8")
