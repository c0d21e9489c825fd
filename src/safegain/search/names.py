"""From what a user writes as `search` to a search."""

from typing import Any

from safegain.search.auto import Auto
from safegain.search.base import Search
from safegain.search.free import Free
from safegain.search.structured import Structured

SEARCHES: dict[str, type[Search]] = {"auto": Auto, "free": Free, "structured": Structured}


def search_of(search: Any) -> Search:
    if isinstance(search, Search):
        return search
    if isinstance(search, str) and search in SEARCHES:
        return SEARCHES[search]()
    raise ValueError(
        f"search: must be one of {', '.join(SEARCHES)}, or an object such as Free(n_outer=50), got {search!r}"
    )
