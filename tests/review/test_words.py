"""Numbers in words."""

from safegain.review.words import time_left
from tests.review.client import decide, numbers


def test_progress_and_the_time_that_is_left(client):
    everything = numbers(client)
    for row in everything[:6]:
        decide(client, row, "keep")
    progress = client.get("/api/changes").json()["progress"]
    assert (progress["checked"], progress["rows"]) == (6, len(everything))
    assert progress["left"] == "less than a minute left"
    steady = [10.0 * i for i in range(31)]
    assert time_left(steady, 175) == "about 29 minutes left"
    assert time_left(steady, 6) == "about 1 minute left"
    assert time_left(steady, 1440) == "about 4 hours left"
    assert time_left(steady[:4], 175) is None
