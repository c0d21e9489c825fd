"""Pictures of a run's rows, as report and page show them."""

import base64
from typing import Any

_PNG = b"\x89PNG\r\n\x1a\n"


def data_address(picture: Any) -> str | None:
    """The address of an <img>. The run may be somebody else's: what does not begin as a PNG file does has none."""
    if not isinstance(picture, bytes) or not picture.startswith(_PNG):
        return None
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
