import json
from pathlib import Path

import numpy as np
import pytest

from safegain import (
    AllOf,
    Bootstrap,
    Certify,
    ConjugateGradient,
    MultiMeasure,
    PerClass,
    PerGroup,
    PerView,
    Recipe,
    Unrolled,
)
from safegain.certificates.bounded_losses import BoundedLoss
from safegain.runs.loading import load
from safegain.runs.objects import from_json, parameters_to_json, to_json
from safegain.runs.saving import save
from tests.runs.fits import (
    fitted,
    same,
)


def test_parameters_are_stored_by_a_list_of_types():
    objects = [
        AllOf((Bootstrap(4), PerClass(["a", 3]), PerGroup(), MultiMeasure("log_loss", "brier"))),
        PerView({"text": [0, 1], "$odd": ("a", "b")}),
        ConjugateGradient(tol=1e-9),
        Unrolled(last=4),
        Recipe(dropout=0.25),
        Certify(0.1, tolerance={"error": 0.1}, measures=("error", "brier"), priors={0: 0.5, 1: 0.5}),
        np.float32(0.1),
        Path("some/where"),
        {"loss": float("inf"), "steps": [1, 2.5, None, True]},
    ]
    for each in objects:
        read = from_json(json.loads(json.dumps(to_json(each), allow_nan=False)))
        assert read == (each.item() if isinstance(each, np.generic) else each)
        assert isinstance(each, np.generic) or type(read) is type(each)


def test_what_cannot_be_stored_is_null_and_has_its_default_after_loading(tmp_path):
    estimator, X = fitted(callbacks=[print])
    estimator.set_params(
        random_state=np.random.RandomState(0), certify=Certify(measures=BoundedLoss("mine", lambda y, said: y, 1.0))
    )
    assert parameters_to_json(estimator.get_params())[1] == ["callbacks", "certify", "random_state"]
    save(estimator, tmp_path)
    loaded = load(tmp_path)
    assert [loaded.get_params()[name] for name in ("callbacks", "certify", "random_state")] == [None] * 3
    same(loaded.predict(X), estimator.predict(X))


def test_a_name_in_the_file_imports_nothing():
    for name in ("os.system", "PGSClassifier", "Path", "__import__"):
        with pytest.raises(KeyError):
            from_json({"$is": name, "with": {}})
