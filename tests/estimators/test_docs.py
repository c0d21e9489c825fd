"""The docstrings name every argument and every attribute that there is."""

import re

import pytest

from safegain import PGSClassifier, PGSRegressor
from safegain.estimators.docs import PARAMETERS
from tests.estimators.samples import classifier, noisy_diabetes, noisy_digits, regressor


@pytest.mark.parametrize(("make", "data"), [(classifier, noisy_digits), (regressor, noisy_diabetes)])
def test_every_argument_and_attribute_is_described(make, data):
    X, noisy, _, trusted = data()
    fitted = make(n_outer=1).fit(X, noisy, trusted=trusted)
    arguments, attributes = type(fitted).__doc__.split("Attributes\n    ----------")
    named = set(re.findall(r"^    (\w+) :", arguments.split("Parameters\n    ----------")[1], re.MULTILINE))
    assert named == fitted.get_params(deep=False).keys()
    described = {
        name for line in re.findall(r"^    ([\w, ]+) :", attributes, re.MULTILINE) for name in line.split(", ")
    }
    of_scikit_learn = {"n_features_in_", "feature_names_in_"}
    assert described == {name for name in (*vars(fitted), "ledger_") if name.endswith("_")} - of_scikit_learn
    assert hasattr(fitted, "ledger_")


def test_no_placeholder_is_left():
    assert "{kind}" in PARAMETERS
    for estimator in (PGSClassifier, PGSRegressor):
        assert not re.search(r"\{(?!\"|Auto|Free)\w+\}", estimator.__doc__)
