"""The probe of Theorem 1."""

from experiments.plan import Run
from experiments.runner import execute


def test_unrolled_hypergradients_of_the_probe_tend_to_the_implicit_one():
    setting = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased"}
    found = execute(Run("digits", setting, "convergence", 0, {"alpha": 0.3}, quick=True))["metrics"]
    assert found["steps"] == [1, 25, 50, 100]
    assert found["error"][-1] < 1e-3 < 0.1 < found["error"][0]
    assert found["error"] == sorted(found["error"], reverse=True)
