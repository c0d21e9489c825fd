"""What the cells of a column say: numbers that are written as text, and nothing."""

import pyarrow as pa
import pyarrow.compute as pc

from safegain.tables.bad_file import shown

# As other programs write a missing number. In a text column only an empty cell is missing: None may be a word.
MISSING = pa.array(["", "NA", "N/A", "nan", "NaN", "null", "None"])
_GROUPED = r"^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$"  # not 0,123: no one parts thousands so
_CODE = r"^\s*0\d+\s*$"
_PROBE = 64  # texts to try first: Arrow makes a message for every one that is not a number, and that is slow


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def as_numbers(texts: pa.Array | pa.ChunkedArray, *, decimal_comma: bool) -> pa.Array | pa.ChunkedArray | None:
    """int64 or double, with null where nothing is; None if some text is not a number."""
    numbers = _converted(texts)
    if numbers is not None:
        return numbers
    return _converted(_tidied(texts, decimal_comma and has_decimal_commas(texts)))


def has_decimal_commas(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Whether the column, of a file that may have them, does: one comma says so, or two dots that part thousands."""
    return bool(pc.any(pc.match_substring_regex(texts, r",|\.\d+\.")).as_py())


def not_numbers(texts: pa.ChunkedArray, *, decimal_comma: bool) -> pa.ChunkedArray:
    """Where the text is there and is not a number."""
    decimal_comma = decimal_comma and has_decimal_commas(texts)
    number = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^(?i)[-+]?inf(inity)?$|^0[xX][0-9a-fA-F]+$"
    found = (pc.match_substring_regex(_tidied(chunk, decimal_comma), number) for chunk in texts.chunks)
    return pa.chunked_array([pc.fill_null(pc.invert(number), False) for number in found], type=pa.bool_())


def not_a_number(texts: pa.ChunkedArray, row: int, *, decimal_comma: bool) -> str:
    """ "'12O' is not a number ('O' is not a digit)" """
    text = texts[row].as_py()
    said = f"{shown(text)} is not a number"
    if not any(c.isdigit() for c in text):
        return said
    if strange := [c for c in text.strip() if c not in "0123456789.,+-eE"]:
        return f"{said} ({shown(strange[0])} is not a digit)"
    right = "1.201,50" if decimal_comma and has_decimal_commas(texts) else "1,201.50"
    return f"{said} (dots and commas are not placed as in {right})" if {*text} & {*".,"} else said


def without_nan(numbers: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if not pa.types.is_floating(numbers.type) or not pc.any(pc.is_nan(numbers)).as_py():
        return numbers
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)


def are_codes(texts: pa.Array | pa.ChunkedArray) -> bool:
    """Whether most are digits with leading zeros, as in zip codes: those are names, not amounts."""
    n_codes = pc.sum(pc.match_substring_regex(texts, _CODE)).as_py() or 0
    return n_codes > 0.5 * (len(texts) - texts.null_count)


def without_empty(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    empty = pc.equal(texts, "")
    return pc.if_else(empty, pa.scalar(None, texts.type), texts) if pc.any(empty).as_py() else texts


def _converted(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | None:
    for kind in (pa.int64(), pa.float64()):
        try:
            pc.cast(texts[:_PROBE], kind)
            return without_nan(pc.cast(texts, kind))
        except pa.ArrowInvalid:
            continue
    return None


def _tidied(texts: pa.Array | pa.ChunkedArray, decimal_comma: bool) -> pa.Array | pa.ChunkedArray:
    texts = pc.utf8_trim_whitespace(texts)
    texts = pc.if_else(pc.is_in(texts, MISSING.cast(texts.type)), pa.scalar(None, texts.type), texts)
    if decimal_comma:  # the two signs change places
        for sign, other in ((".", "\0"), (",", "."), ("\0", ",")):
            texts = pc.replace_substring(texts, sign, other)
    grouped = pc.match_substring_regex(texts, _GROUPED)
    return pc.if_else(grouped, pc.replace_substring(texts, ",", ""), texts) if pc.any(grouped).as_py() else texts
