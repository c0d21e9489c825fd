"""What is listed exists, in the order of the page."""

from importlib import import_module
from pathlib import Path

import pytest
from experiments import artefacts as listing
from experiments.artefacts import artefacts
from experiments.runner import missing_package


def test_every_planned_run_names_files_that_exist():
    runs = [run for artefact in artefacts() for run in artefact.runs()]
    for kind, names in (("data", {run.data for run in runs}), ("methods", {run.method for run in runs})):
        for name in names:
            assert Path(listing.__file__).with_name(kind).joinpath(f"{name}.py").is_file(), name


@pytest.mark.parametrize("method", sorted({run.method for artefact in artefacts() for run in artefact.runs()}))
def test_every_method_can_be_made(method):
    if package := missing_package(method):
        pytest.skip(f"{method} needs the package {package}")
    module = import_module(f"experiments.methods.{method}")
    assert module.NAME
    if "measure" not in vars(module):
        for quick in (False, True):
            assert module.estimator(3, quick=quick).get_params()["random_state"] == 3


def test_only_selects_in_the_order_of_the_page():
    chosen = [a.NAME for a in artefacts(["figure-iterations", "table-mnist-ssl"])]
    assert chosen == ["table-mnist-ssl", "figure-iterations"]
    assert len(artefacts()) == 12
    with pytest.raises(ValueError, match="there is no 'table-mnits'"):
        artefacts(["table-mnits"])
