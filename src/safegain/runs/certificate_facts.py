"""What run.json, certificate-K.json and proof-K.json hold of certificates, as types."""

from typing import Annotated

from msgspec import Struct

from safegain.runs.fact_types import Count, Level, NotNegative, Positive, Share, told


class Entry(Struct, frozen=True):
    """One claim of a certificate."""

    name: Annotated[str, told("the rows that it is about")]
    measure: str
    test: str
    n: Annotated[Count, told("rows")]
    won: Annotated[Count, told("rows on which the new model did better")]
    lost: Annotated[Count, told("rows on which the reference did better")]
    gain: Annotated[float, told("mean, in the measure's units")]
    lower_bound: Annotated[float, told("of the gain")]
    p_value: Share
    delta: Annotated[Level, told("level of the test")]
    tolerance: Annotated[NotNegative, told("how much worse still passes; below `bound`")]
    bound: Annotated[Positive, told("largest loss that counts")]
    certified: bool


class Pool(Struct, frozen=True):
    """Rows of a test by disagreements: only those on which the two models differ were labelled."""

    rows: Count
    differing: Annotated[Count, told("rows on which the two models differ")]
    labelled: Annotated[Count, told("of those")]


class Certificate(Struct, frozen=True, kw_only=True):
    """A certificate: all of its claims must hold. The numbers are those of the weakest claim."""

    certified: bool
    p_value: Share
    lower_bound: float
    n: Annotated[Count, told("fresh rows")]
    sentence: str
    entries: list[Entry]
    remarks: Annotated[list[str] | None, told("part of the sentence: earlier tests, copies, overrides")] = None
    pool: Annotated[Pool | None, told("of a test by disagreements")] = None
    file: Annotated[str | None, told("the fresh rows; in certificate-K.json only")] = None
    created: Annotated[str | None, told("ISO 8601, UTC; in certificate-K.json only")] = None


class Proof(Struct, frozen=True, kw_only=True):
    """A test by disagreements: all that was fixed before its first label."""

    file: Annotated[str, told("the pool")]
    created: Annotated[str, told("ISO 8601, UTC")]
    test: Annotated[Count, told("its number among the tests of the ledger, from 0")]
    delta: Annotated[Level, told("level of all tests together")]
    level: Annotated[Level, told("of this test")]
    tolerance: NotNegative
    per_class: bool
    groups: Annotated[list[str] | None, told("names of the groups that have a claim each")]
    allowed: Annotated[str | None, told("why it was not asked whether the rows are fresh")]
    twins: Annotated[Count, told("rows that look like used ones, although their ids are others")] = 0
    remarks: Annotated[list[str], told("part of the certificate's sentence")]
