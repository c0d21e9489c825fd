"""The models side by side."""

import pytest
from scipy.stats import binomtest

from safegain.report.comparison import binomial_interval
from tests.report.html import change, page
from tests.run_folders import make_run


def test_numbers_have_a_typical_error_in_their_own_units(tmp_path):
    folder = make_run(tmp_path / "run", task="numbers")
    models = [
        {"name": "raw", "n": 40, "loss": 144.0, "mistakes": None, "role": "reference"},
        {"name": "new", "n": 40, "loss": 81.0, "mistakes": None, "role": "new"},
    ]
    groups = [{"name": "north", "n": 15, "reference": 25.0, "new": 36.0}]
    text = page(change(folder, models=models, by_group=groups)).text
    assert "Your labels as they are ◇ the reference12" in text
    assert "New model9" in text
    assert "▲ 1 worse" in text
    assert "is closer to the truth than" in text
    assert "the new model was closer on 30, the reference on 10" in text
    assert "Points on the dashed line need no change" in text
    assert "of 100 rows" not in text.split("How far each label")[0]


def test_ranges_are_exact_binomial_intervals():
    for k, n in [(0, 7), (3, 30), (30, 30), (120, 1000)]:
        known = binomtest(k, n).proportion_ci(0.95, method="exact")
        assert binomial_interval(k, n) == pytest.approx((known.low, known.high), abs=1e-9)
