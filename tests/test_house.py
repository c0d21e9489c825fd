"""The architecture, as far as it can be measured: rooms, sizes, and the way of a default fit."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "safegain"
MODULES = sorted(PACKAGE.rglob("*.py"))
ABOVE = ("baselines", "datasets", "tables", "encoding", "runs", "jobs", "report", "review", "cli", "estimators")
WALK = """
import pkgutil
import sys
from importlib import import_module
import numpy as np
from sklearn.datasets import load_digits
from safegain import PGSClassifier
print(*sorted(name for name in sys.modules if name.split(".")[0] == "safegain"))
X, y = (part[:120] for part in load_digits(n_class=3, return_X_y=True))
trusted = np.arange(len(y)) % 4 == 0
noisy = np.where(trusted | (np.arange(len(y)) % 3 > 0), y, (y + 1) % 3)
rooms = ["data", "bilevel", "learners", "evidence", "search", "certificates", "estimators"]
files, upwards = [], set()

def place(frame):
    parts = frame.f_code.co_filename.replace("\\\\", "/").split("/safegain/")
    return parts[1] if len(parts) == 2 else None

def watch(frame, event, _):
    if event == "call" and (here := place(frame)) is not None:
        files.extend([here] if here not in files else [])
        caller = None if frame.f_back is None else place(frame.f_back)
        handed_down = "<locals>" in frame.f_code.co_qualname  # a function that the caller was given
        if caller and not handed_down and rooms.index(caller.split("/")[0]) < rooms.index(here.split("/")[0]):
            upwards.add(f"{caller} -> {here}")

for room in rooms:  # what a fit imports is no part of its way
    folder = import_module(f"safegain.{room}").__path__
    for module in pkgutil.walk_packages(folder, f"safegain.{room}."):
        import_module(module.name)
model = PGSClassifier(random_state=0)
model.check_params()  # makes the learners
sys.setprofile(watch)
model.fit(X, noisy, trusted=trusted)
sys.setprofile(None)
print(*files)
print(*upwards)
"""


@pytest.fixture(scope="module")
def walk() -> list[list[str]]:
    """Modules that an import loads; files that a default fit passes; calls from a lower room into a higher one."""
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, check=True, env=alone)
    return [line.split() for line in done.stdout.split("\n")[:3]]


def test_the_root_holds_three_files():
    assert {path.name for path in PACKAGE.iterdir() if path.is_file()} == {"__init__.py", "__main__.py", "py.typed"}


def test_an_import_loads_few_modules(walk):
    assert "safegain.estimators.classifier" in walk[0]
    assert len(walk[0]) <= 61


def test_a_default_fit_passes_few_files_and_contributing_lists_them(walk):
    assert len(walk[1]) <= 66
    assert f"passes {len(walk[1])} files" in (ROOT / "CONTRIBUTING.md").read_text()
    road = [file for file in walk[1] if file.split("/")[0] in ("estimators", "search", "evidence")]
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## The way of a default fit")[2].partition("\n## ")[0]
    assert re.findall(r"^\d+\. `([a-z_/]+\.py)`", section, flags=re.M) == road


def test_no_lower_room_calls_a_higher_one(walk):
    assert walk[2] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_short_and_its_functions_take_few_arguments(path):
    source = path.read_text()
    assert len(source.splitlines()) <= 300
    if path.relative_to(PACKAGE).parts[0] in ABOVE:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            assert len([name for name in names if name not in ("self", "cls")]) <= 8, node.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_reads_a_private_attribute_of_an_estimator(path):
    if path.relative_to(PACKAGE).parts[0] in ("estimators", "baselines"):
        return
    found = re.findall(r"\b(?:estimator|model|fitted)\._[a-z]\w*", path.read_text())
    assert not found


def test_each_module_is_imported_by_name_in_some_test():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    names = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in MODULES}
    named = {name.removesuffix(".__init__") for name in names}

    def imported(name: str) -> bool:
        package, _, leaf = name.rpartition(".")
        return bool(
            re.search(rf"\b{re.escape(name)}\b", tests)
            or re.search(rf"from {re.escape(package)} import (?:\([^)]*|[^\n]*)\b{leaf}\b", tests)
        )

    assert not sorted(name for name in named if not imported(name))


def test_no_test_file_is_long():
    assert not [path.name for path in (ROOT / "tests").rglob("*.py") if len(path.read_text().splitlines()) > 500]
