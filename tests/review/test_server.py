"""The port of the page."""

import socket

import pytest

from safegain.review import serve
from safegain.review.server import _listening


def test_a_port_that_is_taken_is_told_and_a_free_one_found(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ValueError, match=f"port {port}: cannot be used"):
            serve(folder, port=port, announce=print)
    with _listening(0, folder) as usual, _listening(0, folder) as other:
        assert usual.getsockname()[0] == other.getsockname()[0] == "127.0.0.1"
        assert usual.getsockname() != other.getsockname()
