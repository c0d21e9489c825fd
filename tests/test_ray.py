"""The example for Ray's TorchTrainer, run as it stands; it needs the extra `ray`."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray.train", reason="needs the extra: pip install 'safegain[ray]'")


def test_the_ray_example_finds_what_one_process_finds(monkeypatch):
    import ray

    root = Path(__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{root / 'examples'}:{root / 'src'}")  # for the workers
    monkeypatch.syspath_prepend(str(root / "examples"))
    import ray_train

    from safegain import Free, Linear, Newton, PGSClassifier
    from tests.ranks_worker import digits

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        found = ray_train.main(2)
    finally:
        ray.shutdown()
        sys.modules.pop("ray_train")
    X, y, trusted = digits()
    exact = Linear(solver=Newton(tol=1e-12))
    model = PGSClassifier(exact, search=Free(n_outer=5), reference="raw", random_state=0)
    model.fit(X, y, trusted=trusted)
    assert found["rows"] == len(y) // 2
    np.testing.assert_allclose(found["weights"], model.sample_weight_[: found["rows"]], rtol=1e-6, atol=1e-9)
