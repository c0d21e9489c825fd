"""Downloads that break off."""

import pytest

from safegain.datasets.web import download
from tests.datasets.sources import CONTENT, DIGEST, server


@pytest.mark.parametrize("ranges", [True, False])
def test_download_goes_on_where_it_was_cut(tmp_path, ranges):
    path, part = tmp_path / "file", tmp_path / "file.part"
    with server(cut=100_000) as source, pytest.raises(OSError, match="100000 of 300000"):
        download(source.url, path, DIGEST)
    assert part.stat().st_size == 100_000
    assert not path.exists()
    with server(ranges=ranges) as source:
        download(source.url, path, DIGEST)
        assert source.asked == ["bytes=100000-"]
    assert path.read_bytes() == CONTENT
    assert not part.exists()


def test_download_starts_again_when_the_part_is_too_long(tmp_path):
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    with server() as source:
        download(source.url, tmp_path / "file", DIGEST)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_corrupted_download_is_removed(tmp_path):
    with server(content=b"x" + CONTENT[1:]) as source, pytest.raises(ValueError, match=DIGEST):
        download(source.url, tmp_path / "file", DIGEST)
    assert list(tmp_path.iterdir()) == []
