"""The page over HTTP, without a browser."""

import contextlib
import json
from pathlib import Path

from starlette.testclient import TestClient

from safegain.review import create_app

TOKEN, ADDRESS = "a-token", "http://127.0.0.1:8123"
HEADERS = {"X-Safegain-Token": TOKEN}


@contextlib.contextmanager
def opened(folder: Path):
    with TestClient(create_app(folder, TOKEN, port=8123), base_url=ADDRESS, headers=HEADERS) as client:
        yield client


def rows(client, **query) -> list[dict]:
    return client.get("/api/rows", params={"limit": 200} | query).json()["rows"]


def numbers(client, **query) -> list[int]:
    return [row["row"] for row in rows(client, **query)]


def decide(client, row, verdict, version=0, choice=None, who="tab"):
    message = {"row": row, "verdict": verdict, "version": version, "choice": choice, "who": who}
    return client.post("/api/decide", json=message)


def exported(data: dict, label: str) -> str:
    """As Label Studio writes a checked task."""
    result = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [label]}}
    return json.dumps([{"id": 1, "data": data, "annotations": [{"was_cancelled": False, "result": [result]}]}])
