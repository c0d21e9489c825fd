"""Searches by their names."""

import pytest

from safegain import Auto, Free, Structured
from safegain.estimators.parameters import SEARCHES, search_of


def test_names_and_objects():
    assert search_of("auto") == Auto()
    assert search_of("free") == Free()
    assert search_of("structured") == Structured()
    assert all(search_of(name).name == name for name in SEARCHES)
    own = Free(n_outer=3)
    assert search_of(own) is own


@pytest.mark.parametrize("search", ["fre", None, 3, Free, ["auto"]])
def test_what_is_no_search(search):
    with pytest.raises(ValueError, match=r"search: must be one of auto, free, .*, or an object such as Free\("):
        search_of(search)
