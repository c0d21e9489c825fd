"""Pictures of a run that may be somebody else's."""

import base64

import pytest

from safegain.runs.pictures import data_address

PNG = b"\x89PNG\r\n\x1a\n and the rest"


def test_a_png_becomes_an_address():
    head, _, data = data_address(PNG).partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == PNG


@pytest.mark.parametrize("picture", [None, "text", b"", b"GIF89a", b"<svg onload=alert(1)>", PNG[1:]])
def test_anything_else_has_none(picture):
    assert data_address(picture) is None
