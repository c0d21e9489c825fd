"""Kinds of columns: one list for tables, encoding, facts and the command line."""

from typing import get_args

from safegain.cli.fit import KINDS as TYPED
from safegain.data.kinds import KINDS, Kind


def test_all_kinds_but_arrays_can_be_typed():
    assert get_args(Kind) == KINDS
    assert {*TYPED, "array"} == set(KINDS)
