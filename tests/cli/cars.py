"""A table of cars that tests of commands share."""

import pytest
from typer.testing import CliRunner

from safegain.cli import app
from safegain.datasets.files import find_file

QUICK = ["--model", "network, n_hidden=64, recipe={n_steps=100}"]


def shared(name):
    path = find_file(name)
    if path is None:
        pytest.skip(f"{name} was not found: SAFEGAIN_DATA names the folder with the data sets")
    return path


def fit_cars(folder, model=QUICK):
    files = [folder / "train.csv", "--trusted", folder / "trusted.csv"]
    return [*files, "--label", "region", "--id", "car", "--seed", 3, *model]


def fitted_here(cars, out, *options):
    """`safegain fit` on the cars without a process of its own, of a quick model unless the options name one."""
    model = () if "--model" in options else QUICK
    return CliRunner().invoke(app, ["fit", *map(str, fit_cars(cars, model)), *options, "--out", str(out)])
