"""From named columns (numbers, categories, texts, arrays, images) to one matrix of single-precision numbers."""

from safegain.encoding.columns import EncodingError
from safegain.encoding.encoder import TableEncoder
from safegain.encoding.pictures import thumbnail

__all__ = ["EncodingError", "TableEncoder", "thumbnail"]
