"""What a user asks for."""

import json

import pytest

from safegain.tables import (
    Wanted,
)


def test_wanted(tmp_path):
    wanted = Wanted("a.csv", "y", "t.csv", "id", "g", "classes", {"x": "text"}, ("a", "b"))
    assert Wanted.from_dict(json.loads(json.dumps(wanted.as_dict()))) == wanted
    for wrong in (
        {"task": "ranks"},
        {"kinds": {"x": "colour"}},
        {"drop": ("y",)},
        {"id": "y"},
        {"drop": ("x",), "kinds": {"x": "text"}},
    ):
        with pytest.raises(ValueError):
            Wanted("a.csv", "y", **wrong)
