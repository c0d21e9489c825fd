"""How many rows a certificate takes."""

import numpy as np
import pytest
from scipy.stats import multinomial, norm

from safegain.certificates.power import _rows_to_win, fewest_rows, required_trusted, set_aside, sign_test_power
from safegain.certificates.sign_test import sign_test


def test_power_is_the_published_table_and_the_test_itself():
    for n, power in [(100, 0.24), (200, 0.43), (500, 0.78), (1000, 0.97)]:
        assert sign_test_power(n, 0.05, 0.2) == pytest.approx(power, abs=0.03)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(150, [0.2, 0.1, 0.7], size=4000)
    simulated = np.mean([sign_test(won, lost) <= 0.01 for won, lost, _ in counts])
    assert sign_test_power(150, 0.1, 0.3, 0.01) == pytest.approx(simulated, abs=0.025)


@pytest.mark.parametrize(("gain", "discordance"), [(0.05, 0.2), (0.3, 1.0), (0.02, 0.02), (0.004, 0.3)])
def test_required_rows_are_enough_and_no_more_than_that(gain, discordance):
    n = required_trusted(gain, discordance, power=0.7)
    assert min(sign_test_power(k, gain, discordance) for k in range(n, n + 60)) >= 0.7
    assert sign_test_power(n - 1, gain, discordance) < 0.7


def test_required_rows_of_a_tiny_gain_come_at_once():
    assert required_trusted(1e-5, 0.2) == pytest.approx(0.2 * ((norm.isf(0.05) + norm.isf(0.2)) / 1e-5) ** 2, rel=1e-6)
    with pytest.raises(ValueError, match="gain: must be above 0 and at most discordance"):
        required_trusted(0.3, 0.2)


def test_what_is_set_aside():
    assert set_aside(10_000) == required_trusted(0.05, 0.2)
    assert set_aside(300) == 150
    with pytest.raises(ValueError, match=r"half of 8 trusted rows can never certify at level 0\.05, which takes 5"):
        set_aside(8)
    for delta in (0.2, 0.05, 0.001):
        assert 0.5 ** fewest_rows(delta) <= delta < 0.5 ** (fewest_rows(delta) - 1)


@pytest.mark.parametrize(
    ("n", "gain", "discordance", "delta"), [(6, 0.2, 0.5, 0.1), (25, 0.1, 0.1, 0.05), (9, 1, 1, 0.2)]
)
def test_power_is_the_sum_over_all_outcomes(n, gain, discordance, delta):
    shares = [(discordance + gain) / 2, (discordance - gain) / 2, 1 - discordance]
    outcomes = [(won, lost) for won in range(n + 1) for lost in range(n + 1 - won)]
    certified = [(won, lost, n - won - lost) for won, lost in outcomes if sign_test(won, lost) <= delta]
    assert certified
    expected = sum(multinomial.pmf(outcome, n, shares) for outcome in certified)
    assert sign_test_power(n, gain, discordance, delta) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.05, 1e-3, 1e-9])
def test_rows_to_win_are_the_fewest_that_certify(delta):
    m = np.arange(60)
    fewest = [next((won for won in range(n + 1) if sign_test(won, n - won) <= delta), n + 1) for n in m]
    assert _rows_to_win(m, delta).tolist() == fewest
