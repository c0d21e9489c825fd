import numpy as np
import pandas as pd
import pytest

from tests.cli.cars import fit_cars, shared
from tests.command import done


@pytest.fixture(autouse=True)
def _quick(quick_evidence):
    """For fits without a process of their own."""


@pytest.fixture(scope="session")
def cars(tmp_path_factory):
    """Cars with their region; a third of the regions are wrong, some are missing; three files and a finished run."""
    folder = tmp_path_factory.mktemp("cars")
    frame = pd.read_csv(shared("mpg.csv")).rename(columns={"target": "mpg"})
    random = np.random.RandomState(0)
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    regions = np.array(["usa", "europe", "japan"])
    truth = frame.pop("origin").to_numpy() - 1
    frame["cylinders"] = frame["cylinders"].map(lambda n: f"{n} cylinders")
    frame.loc[::17, "horsepower"] = np.nan
    frame.insert(0, "car", [f"car {i}" for i in range(len(frame))])
    wrong = np.where(random.rand(len(frame)) < 0.3, (truth + 1) % 3, truth)
    train, trusted, fresh = slice(0, 200), slice(200, 320), slice(320, None)
    weak = frame.assign(region=regions[wrong])[train]
    weak.loc[::23, "region"] = None
    weak.to_csv(folder / "train.csv", index=False)
    frame.assign(region=regions[truth])[trusted].to_csv(folder / "trusted.csv", index=False)
    frame.assign(region=regions[truth])[fresh].to_csv(folder / "fresh.csv", index=False)
    told = done("fit", *fit_cars(folder), "--out", folder / "run", "--json", quick=True)
    (folder / "told.json").write_text(told)
    return folder
