"""What the cells of a column say: numbers that are written as text, and nothing."""

import pyarrow as pa
import pyarrow.compute as pc

# As other programs write a missing number. In a text column only an empty cell is missing: None may be a word.
MISSING = pa.array(["", "NA", "N/A", "nan", "NaN", "null", "None"])
_PROBE = 64  # texts to try first: Arrow makes a message for every one that is not a number, and that is slow


def is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def as_numbers(texts: pa.Array | pa.ChunkedArray, *, decimal_comma: bool) -> pa.Array | pa.ChunkedArray | None:
    """int64 or double, with null where nothing is; None if some text is not a number."""
    numbers = _converted(texts)
    return _converted(_tidied(texts, decimal_comma)) if numbers is None else numbers


def not_numbers(texts: pa.ChunkedArray, *, decimal_comma: bool) -> pa.ChunkedArray:
    """Where the text is there and is not a number."""
    number = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$|^(?i)[-+]?inf(inity)?$|^0[xX][0-9a-fA-F]+$"
    found = (pc.match_substring_regex(_tidied(chunk, decimal_comma), number) for chunk in texts.chunks)
    return pa.chunked_array([pc.fill_null(pc.invert(number), False) for number in found], type=pa.bool_())


def without_nan(numbers: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if not pa.types.is_floating(numbers.type) or not pc.any(pc.is_nan(numbers)).as_py():
        return numbers
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)


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
    return pc.replace_substring(texts, ",", ".") if decimal_comma else texts
