"""`safegain review`: what it begins, and what opens the browser."""

import stat

import pytest

from safegain.cli.review import run_review
from safegain.cli.talk import Talk
from safegain.review import server
from tests.run_folders import make_run

NO_TEST = {"certificate": None, "id": None, "group": None, "allow": None}


def test_the_browsers_command_line_does_not_hold_the_token(tmp_path, monkeypatch, capsys):
    opened = []

    def look(address):
        file = server.Path(address.removeprefix("file://"))
        opened.append((address, file.read_text(), stat.S_IMODE(file.stat().st_mode), file.parent.stat().st_mode & 0o77))
        raise KeyboardInterrupt  # and the page is closed

    monkeypatch.setattr(server.webbrowser, "open", look)
    run_review(make_run(tmp_path / "run"), None, None, NO_TEST, 0, True, Talk())
    url = capsys.readouterr().out.strip()
    ((address, page, mode, others),) = opened
    token = url.partition("#")[2]
    assert len(token) > 30
    assert token not in address
    assert f'content="0; url={url}"' in page
    assert (mode, others) == (0o600, 0)
    assert not server.Path(address.removeprefix("file://")).exists()  # it goes with the page


def test_what_belongs_to_a_pool_is_refused_without_one(tmp_path):
    for name in ("certificate", "id", "group", "allow"):
        with pytest.raises(ValueError, match=f"{name}: belongs to the test of a pool"):
            run_review(make_run(tmp_path / name), None, None, NO_TEST | {name: "0.1"}, 0, False, Talk())
