"""What a user asks for."""

import json

import pytest

from safegain.tables.source import Source


def test_names_that_contradict_each_other_are_refused(tmp_path):
    source = Source("a.csv", "y", "t.csv", "id", "g", "classes", {"x": "text"}, ("a", "b"))
    assert Source.from_dict(json.loads(json.dumps(source.as_dict()))) == source
    for wrong, words in (
        ({"task": "ranks"}, "task must be classes or numbers, not 'ranks'"),
        ({"kinds": {"x": "colour"}}, "kinds: 'x' must be one of number, .*, not 'colour'"),
        ({"drop": ("y",)}, "label: the column 'y' also has a kind or is dropped"),
        ({"id": "y"}, "label: the column 'y' is also the id"),
        ({"drop": ("x",), "kinds": {"x": "text"}}, "drop: 'x' is also given a kind"),
    ):
        with pytest.raises(ValueError, match=words):
            Source("a.csv", "y", **wrong)
