"""Numbers with bounds, and words about a key, for the types of the files of a run."""

from typing import Annotated

from msgspec import Meta

MOST = 2**63 - 1
Whole = Annotated[int, Meta(ge=-MOST, le=MOST)]
Count = Annotated[int, Meta(ge=0, le=MOST)]
Share = Annotated[float, Meta(ge=0, le=1)]
Level = Annotated[float, Meta(gt=0, lt=1)]
NotNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Label = str | bool | Whole | float


def told(text: str) -> Meta:
    return Meta(description=text)
