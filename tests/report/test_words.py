"""Numbers and texts in words."""

from safegain.report.words import chance, cleaned, cut, number


def test_numbers_in_words():
    assert [chance(p) for p in (0.05, 0.001, 0.0123, 0.21, 1.0, 0.0)] == [
        *("5 of 100", "1 of 1,000", "2 of 100", "21 of 100", "100 of 100", "1 of 1,000,000"),
    ]
    assert [number(v) for v in (1234567, 999.7, 0.12345, 1e-9, None, float("nan"), True)] == [
        *("1,234,567", "1,000", "0.123", "1e-09", "–", "–", "–"),
    ]
    assert cut("漢" * 50, 10) == "漢漢漢漢…"
    assert cut("a" * 10_000, 10) == "a" * 9 + "…"
    assert cut("ab  \n c", 10) == "ab c"
    assert cleaned("a\x00\ud800b") == "a\ufffd\ufffdb"
