from safegain.search.references import BEST, NEW, REFERENCES, SAFE_CHOICE


def test_names_do_not_overlap():
    assert REFERENCES == ("raw", "raw+trusted", "trusted")
    assert SAFE_CHOICE in REFERENCES
    assert {BEST, NEW}.isdisjoint(REFERENCES)
