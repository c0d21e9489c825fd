import pytest

from safegain.runs.saving import save
from tests.runs.fits import FITS, saved_with_its_table


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """(estimator, X, folder) by name of a fit, each made once."""
    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("run") / "run"
            if name == "table":
                estimator, X = saved_with_its_table(folder)
            else:
                estimator, X = FITS[name]()
                save(estimator, folder, X)
            made[name] = estimator, X, folder
        return made[name]

    return get


@pytest.fixture(autouse=True)
def _quick(quick_evidence):
    """Evidence is not what these tests are about."""
