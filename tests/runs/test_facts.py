import json
import runpy
from pathlib import Path

import msgspec
import pytest

from safegain.runs import RunError, open_run
from safegain.runs.certificate_facts import Certificate
from safegain.runs.fact_types import Count, Level, Share
from safegain.runs.facts import Facts
from safegain.runs.folder import read_typed
from tests.run_folders import make_run

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_describes_the_types():
    page = (DOCS / "run-format.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(DOCS / "make_run_format.py"))["generated"](page)
    assert made == page, "docs/run-format.md is not what the types say; make it anew: python docs/make_run_format.py"


def changed(folder, **facts):
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))
    return folder


def test_what_nobody_knows_is_ignored_and_what_is_absent_is_null(tmp_path):
    folder = make_run(tmp_path / "run")
    facts = open_run(changed(folder, later={"any": [1, None]}, rows={**ROWS, "more": 1})).facts
    assert facts.rows.weak == 2
    assert not hasattr(facts, "later")
    (folder / "run.json").write_text('{"format": 3, "task": "numbers"}')
    facts = open_run(folder).facts
    told = msgspec.to_builtins(facts)
    assert {key for key, value in told.items() if value is not None} == {"format", "task"}


ROWS = {"all": 3, "weak": 2, "trusted": 1, "held_out": 0, "set_aside": 0, "unlabelled": 0}


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        ({"seconds": "1"}, r"Expected `float | null`, got `str` - at `$.seconds`"),
        ({"rows": ROWS | {"all": 3.5}}, r"Expected `int`, got `float` - at `$.rows.all`"),
        ({"rows": ROWS | {"all": True}}, r"Expected `int`, got `bool` - at `$.rows.all`"),
        ({"n_suspicious": -1}, r"Expected `int` >= 0 - at `$.n_suspicious`"),
        ({"seed": 10**30}, r"Expected `int` <= 9223372036854775807 - at `$.seed`"),
        ({"seed": -(10**30)}, r"Expected `int` >= -9223372036854775807 - at `$.seed`"),
        ({"seconds": 10**400}, "Number out of range - at `$.seconds`"),
        ({"task": "cl\ud800"}, "surrogates not allowed"),
        ({"task": "a\nb"}, r"Invalid enum value 'a\nb' - at `$.task`"),
        ({"models": [{"name": "new", "n": 1, "loss": 0.5, "mistakes": 1.5}]}, "<= 1.0 - at `$.models[0].mistakes`"),
        ({"verdict": {"outcome": "safe"}}, "missing required field `reference` - at `$.verdict`"),
    ],
)
def test_a_misfit_is_one_line_that_says_what_and_where(tmp_path, facts, what):
    folder = changed(make_run(tmp_path / "run"), **facts)
    with pytest.raises(RunError) as caught:
        open_run(folder)
    line = str(caught.value)
    assert line.startswith(f"{folder / 'run.json'}: is damaged (")
    assert what in line
    assert line.endswith("; fit again")
    assert "\n" not in line


def test_a_later_certificate_is_checked_as_the_first(tmp_path):
    folder = make_run(tmp_path / "run")
    found = json.loads((folder / "run.json").read_text())["certificate"]
    (folder / "certificate-1.json").write_text(json.dumps(found | {"file": "fresh.csv", "created": "2026-01-31"}))
    (certificate,) = open_run(folder).certificates
    assert certificate.file == "fresh.csv"
    found["entries"][0]["delta"] = 1
    (folder / "certificate-1.json").write_text(json.dumps(found))
    with pytest.raises(RunError, match=r"certificate-1\.json: is damaged \(.*entries\[0\]\.delta"):
        read_typed(folder / "certificate-1.json", Certificate)
    with pytest.raises(TypeError):
        Facts()


@pytest.mark.parametrize(("kind", "misfits"), [(Count, [-1, 2**63]), (Share, [-0.1, 1.1]), (Level, [0.0, 1.0])])
def test_numbers_have_bounds(kind, misfits):
    for value in misfits:
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, kind)
