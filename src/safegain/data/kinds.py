"""What a column can be to a model."""

from typing import Literal, get_args

Kind = Literal["number", "category", "text", "image", "array"]
KINDS: tuple[Kind, ...] = get_args(Kind)
