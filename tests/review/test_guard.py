"""Who may talk to the page, and what it hands out."""

import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import safegain
from safegain.review.app import SCRIPTS, STATIC
from safegain.review.guard import report_key
from tests.review.client import ADDRESS, TOKEN, numbers


@pytest.mark.parametrize("path", ["/api/about", "/api/rows", "/api/rows/1", "/api/changes", "/api/refits", "/nothing"])
@pytest.mark.parametrize("token", [None, "", "a-toke", "a-token-", "ä"])
def test_reading_needs_the_token(folder, client, path, token):
    headers = {} if token is None else {"X-Safegain-Token": token.encode()}
    answer = TestClient(client.app, base_url=ADDRESS).get(path, headers=headers)
    assert answer.status_code == 403
    assert "cat" not in answer.text


@pytest.mark.parametrize("path", ["decide", "finish", "refit", "cancel", "import"])
def test_changing_needs_the_token_and_a_post(folder, client, path):
    row = numbers(client)[0]
    message = {"row": row, "verdict": "accept", "version": 0, "who": "tab"}
    assert TestClient(client.app, base_url=ADDRESS).post(f"/api/{path}", json=message).status_code == 403
    assert client.get(f"/api/{path}").status_code == 405
    assert not (folder / "trusted.parquet").exists()
    assert client.get("/api/changes").json()["last"] == 0


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "localhost:8124", "127.0.0.1:8123.evil.example", ""]
)
def test_another_host_is_refused(client, host):
    assert client.get("/api/about", headers={"Host": host}).status_code == 403
    assert client.get("/", headers={"Host": host}).status_code == 403


def test_localhost_is_the_same_host(client):
    assert (
        client.get("/api/about", headers={"Host": "localhost:8123", "Origin": "http://localhost:8123"}).status_code
        == 200
    )


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:8124"])
def test_another_origin_is_refused(client, origin):
    assert client.post("/api/finish", headers={"Origin": origin}).status_code == 403


def test_every_answer_is_closed_to_other_pages(client):
    for path in (*STATIC, "/api/about", "/api/rows/999999", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"


def test_no_string_is_ever_read_as_html():
    scripts = list(Path(safegain.review.__file__).parent.glob("*.js"))
    assert {file.stem for file in scripts} == {*SCRIPTS}
    for file in scripts:
        source = file.read_text()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "DOMParser",
            "http:",
            "https:",
        ):
            assert word not in source, (file, word)


PATHS = [
    "/report/../../etc/passwd",
    "/report/..%2f..%2fetc%2fpasswd",
    "/report/%2e%2e/run.json",
    "/report/-1",
    "/page.py",
]
PATHS += [
    "/report//etc/passwd",
    "/..%2frun.json",
    "/static/../app.py",
    "/report/0%00",
    "/api/rows/..%2f..%2frun.json",
    "/run.json",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_file_is_served_by_its_path(client, path):
    answer = client.get(path)
    assert answer.status_code in (403, 404)
    assert "root:" not in answer.text
    assert "format" not in answer.text


def test_a_report_opens_by_its_own_key_and_reaches_nothing(folder, client):
    assert client.get("/api/refits").json()["report"] is None
    (folder / "report.html").write_text("<h1>the report</h1>")
    link = client.get("/api/refits").json()["report"]
    stranger = TestClient(client.app, base_url=ADDRESS)
    answer = stranger.get(link)
    assert "script" not in answer.headers["content-security-policy"]
    assert answer.text == "<h1>the report</h1>"
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'; ")
    assert TOKEN not in link
    assert stranger.get(link.replace("/report/0", "/report/1")).status_code == 403
    assert stranger.get("/report/0").status_code == 403


def test_a_report_is_a_file_of_the_run_and_not_too_large(folder, client, tmp_path):
    (tmp_path / "secret").write_text("mine")
    report = folder / "report.html"
    report.write_text("")
    link = client.get("/api/refits").json()["report"]

    def refused() -> bool:
        return client.get("/api/refits").json()["report"] is None and client.get(link).status_code == 404

    report.unlink()
    report.symlink_to(tmp_path / "secret")
    assert refused()
    report.unlink()
    os.mkfifo(report)  # to read it would take for ever
    assert refused()
    report.unlink()
    report.write_bytes(b"x" * 10 * 2**20)
    assert client.get(link).status_code == 200
    with report.open("ab") as longer:
        longer.write(b"x")
    assert refused()


def test_every_report_has_a_key_of_its_own():
    keys = {report_key(token, number) for token in ("one", "two") for number in range(3)}
    assert len(keys) == 6
    assert not any("one" in key or "two" in key for key in keys)
