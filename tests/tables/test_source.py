"""What a user asks for."""

import json

import pytest

from safegain.tables import Source


def test_names_that_contradict_each_other_are_refused(tmp_path):
    source = Source("a.csv", "y", "t.csv", "id", "g", "classes", {"x": "text"}, ("a", "b"))
    assert Source.from_dict(json.loads(json.dumps(source.as_dict()))) == source
    for wrong in (
        {"task": "ranks"},
        {"kinds": {"x": "colour"}},
        {"drop": ("y",)},
        {"id": "y"},
        {"drop": ("x",), "kinds": {"x": "text"}},
    ):
        with pytest.raises(ValueError):
            Source("a.csv", "y", **wrong)
