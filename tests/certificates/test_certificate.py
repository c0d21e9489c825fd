"""A certificate is wrong no more often than it says, and says what it knows."""

import json
import math
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest, norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from safegain.certificates.betting import LARGEST_STAKE, betting_lower_bound, betting_p_value
from safegain.certificates.bounded_losses import BoundedLoss, bounded_loss
from safegain.certificates.certificate import Certificate
from safegain.certificates.comparison import certify, certify_in_order, certify_losses
from safegain.certificates.crossfit import certify_by_crossfit, normal_entry
from safegain.certificates.power import fewest_rows, required_trusted, set_aside, sign_test_power
from safegain.certificates.sign_test import gain_lower_bound, sign_test, tolerance_test

DRAWS = 5000
DELTA = 0.05
NO_MORE = DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / DRAWS)  # three standard errors of the simulation


class Says(ClassifierMixin, BaseEstimator):
    """A classifier that knows its answers by row number, with the probabilities (n, k) of its classes if given."""

    def __init__(self, said, P=None, classes=(0, 1)):
        self.said, self.P, self.classes_ = np.asarray(said), P, np.asarray(classes)

    def predict(self, X):
        return self.said[np.asarray(X)]

    def predict_proba(self, X):
        return self.P[np.asarray(X)]


class Numbers(RegressorMixin, BaseEstimator):
    def __init__(self, said):
        self.said = np.asarray(said)

    def predict(self, X):
        return self.said[np.asarray(X)]


def outcomes(won, lost, n):
    """(new, old, X, y) with so many rows won and lost."""
    y = np.ones(n, dtype=int)
    new, old = y.copy(), y.copy()
    old[:won] = 0
    new[won : won + lost] = 0
    return Says(new), Says(old), np.arange(n), y


def trinomial(rng, n, discordance, gain):
    """Losses of the new and the old model: 0/1, different on a share `discordance` of rows."""
    shares = [(discordance + gain) / 2, 1 - discordance, (discordance - gain) / 2]
    saved = rng.choice([1, 0, -1], n, p=shares)
    return (saved < 0).astype(float), (saved > 0).astype(float)


def false_certificates(draw, gain, **settings):
    """Shares of draws that are certified, and whose lower bound lies above the true gain."""
    rng = np.random.default_rng(0)
    entries = [certify_losses(*draw(rng), delta=DELTA, random_state=i, **settings) for i in range(DRAWS)]
    return np.mean([e.certified for e in entries]), np.mean([e.lower_bound > gain + 1e-9 for e in entries])


@pytest.mark.parametrize("gain", [0.0, -0.001, -0.01])
@pytest.mark.parametrize(("n", "discordance"), [(300, 0.02), (300, 0.3), (30, 1.0)])
def test_sign_test_keeps_its_level(n, discordance, gain):
    certified, missed = false_certificates(
        lambda rng: trinomial(rng, n, discordance, gain), gain, bound=1, zero_one=True
    )
    assert certified <= NO_MORE
    assert missed <= NO_MORE


@pytest.mark.parametrize(("n", "discordance", "gain"), [(300, 0.02, -0.01), (500, 0.3, -0.01), (30, 1.0, -0.2)])
def test_tolerance_keeps_its_level_at_its_boundary(n, discordance, gain):
    for zero_one in (True, False):
        certified, missed = false_certificates(
            lambda rng: trinomial(rng, n, discordance, gain), gain, bound=1, zero_one=zero_one, tolerance=-gain
        )
        assert certified <= NO_MORE
        assert missed <= NO_MORE


def rarely_much_worse(rng, n):
    """Better by 0.01 as a rule and worse by 0.99 once in a hundred rows: equal in the mean, and a trap for a t test."""
    bad = rng.random(n) < 0.01
    return np.where(bad, 0.99, 0.0), np.where(bad, 0.0, 0.01)


BOUNDED = {
    "equal, spread out": lambda rng: (rng.beta(0.3, 0.3, 200), rng.beta(0.3, 0.3, 200)),
    "worse by 0.001": lambda rng: (np.minimum(rng.beta(2, 5, 200) + 0.001, 1), rng.beta(2, 5, 200)),
    "equal, rarely much worse": lambda rng: rarely_much_worse(rng, 300),
}


@pytest.mark.parametrize("draw", BOUNDED.values(), ids=BOUNDED.keys())
def test_betting_keeps_its_level(draw):
    certified, missed = false_certificates(draw, 0.0, bound=1)
    assert certified <= NO_MORE
    assert missed <= NO_MORE


@pytest.mark.parametrize("by_design", [True, False])
def test_priors_keep_the_level_whatever_drew_the_classes(by_design):
    """Class 0 gains as much as class 1 loses; half and half in use, four to one in the rows."""

    def draw(rng):
        n = 150
        y = (np.arange(n) < 0.2 * n) if by_design else rng.random(n) < 0.2
        u, gain = rng.random(n), np.where(y, -0.3, 0.3)
        labels.append(y)
        return ((u >= (0.4 + gain) / 2) & (u < 0.4)).astype(float), (u < (0.4 + gain) / 2).astype(float)

    labels, rng = [], np.random.default_rng(0)
    weighted, plain = [], []
    for i in range(DRAWS):
        new, old = draw(rng)
        settings = {"bound": 1, "zero_one": True, "delta": DELTA, "random_state": i}
        weighted.append(certify_losses(new, old, y=labels[-1], priors={False: 0.5, True: 0.5}, **settings).certified)
        plain.append(certify_losses(new, old, **settings).certified)
    assert np.mean(weighted) <= NO_MORE
    assert np.mean(plain) > 0.5  # it is the weights that keep it


def test_priors_find_a_gain_that_holds_under_them():
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 10 > 0  # nine in ten
    saved = np.where(y, rng.random(1000) < 0.05, rng.random(1000) < 0.4).astype(float)
    entry = certify_losses(np.zeros(1000), saved, bound=1, y=y, priors={False: 0.5, True: 0.5})
    assert entry.certified
    assert entry.gain == pytest.approx(0.5 * saved[y].mean() + 0.5 * saved[~y].mean())
    assert 0 < entry.lower_bound < 0.225


@pytest.mark.parametrize("n", [6, 15])
def test_the_bound_of_the_gain_holds_exactly(n):
    """Every outcome of n rows, weighed by its probability, over a grid of true discordances and gains."""
    delta, m = 0.1, np.arange(n + 1)
    bound = {(w, d - w): gain_lower_bound(w, d - w, n, delta) for d in m for w in range(d + 1)}
    for discordance in np.linspace(0.05, 1, 20):
        for edge in np.linspace(-1, 1, 21):
            gain = discordance * edge
            wrong = sum(
                binom.pmf(w + lost, n, discordance) * binom.pmf(w, w + lost, (1 + edge) / 2)
                for (w, lost), lower in bound.items()
                if lower > gain + 1e-12
            )
            assert wrong <= delta


def test_sign_test_is_scipys():
    for won in range(0, 40, 3):
        for lost in range(0, 40, 3):
            theirs = binomtest(won, won + lost, 0.5, alternative="greater").pvalue if won + lost else 1.0
            assert sign_test(won, lost) == pytest.approx(theirs, rel=1e-12)


def test_the_tests_and_the_bound_agree():
    for won, lost, n in [(12, 3, 60), (5, 9, 100), (0, 0, 80), (0, 4, 30), (7, 0, 7), (40, 30, 400)]:
        lower = gain_lower_bound(won, lost, n, DELTA)
        assert (lower >= 0) == (sign_test(won, lost) <= 0.99 * DELTA)
        for tolerance in (0.001, 0.02, 0.1, 0.3, -lower - 1e-6, -lower + 1e-6):
            if tolerance > 0:
                p = tolerance_test(won, lost, n, tolerance=tolerance, delta=DELTA)
                assert (p <= DELTA) == (lower >= -tolerance)


def capital_by_hand(x, m, delta):
    """The largest capital of one side of the hedged capital process, a row at a time, as arXiv:2010.09686 writes it."""
    n, capital, largest = len(x), 1.0, 1.0
    total, squares = 0.5, 0.25
    for t, value in enumerate(x, start=1):
        variance = squares / t
        bet = min(math.sqrt(2 * math.log(1 / delta) / (n * variance)), LARGEST_STAKE / m)
        capital *= 1 + bet * (value - m)
        largest = max(largest, capital)
        total += value
        squares += (value - total / (t + 1)) ** 2
    return largest


@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_betting_agrees_with_the_paper_row_by_row(delta):
    rng = np.random.default_rng(0)
    for x in (rng.beta(1, 3, 80), rng.choice([0, 0.5, 1], 200, p=[0.02, 0.9, 0.08]), np.ones(9), np.zeros(5)):
        for m in (0.1, 0.3, 0.5, 0.9):
            assert betting_p_value(x, m, delta) == pytest.approx(1 / capital_by_hand(x, m, delta), rel=1e-9)
        grid = np.linspace(0.0005, 0.9995, 1000)
        kept = [m for m in grid if capital_by_hand(x, m, delta) < 1 / delta]
        assert betting_lower_bound(x, delta) == pytest.approx(kept[0], abs=0.0011)


def test_a_million_rows_take_less_than_a_second():
    x = np.random.default_rng(0).random(1_000_000)
    start = time.process_time()
    assert 0.498 < betting_lower_bound(x, 0.05) < 0.5
    assert time.process_time() - start < 1


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


def test_a_certificate_and_its_sentence():
    found = certify(*outcomes(31, 12, 400))
    assert found.certified
    assert found.n == 400
    assert found.p_value == binomtest(31, 43, alternative="greater").pvalue
    assert 0 < found.lower_bound < 19 / 400
    assert found.sentence == (
        "Certified at level 0.05: on data like these 400 fresh rows, the error of the new model is not higher than "
        "that of the reference (31 rows won, 12 lost, p = 0.0027)."
    )
    assert json.loads(json.dumps(found.as_dict()))["entries"][0]["won"] == 31
    assert "all rows" in str(found)


@pytest.mark.parametrize(
    ("rows", "settings", "words"),
    [
        (
            (5, 2, 50),
            {},
            r"If it is better by the 6 points seen here, \d+ new rows like them would show it 4 times in 5",
        ),
        ((2, 5, 50), {}, "On these rows it was not better"),
        ((0, 0, 200), {}, "same on all 200 rows, which is no proof for others: the loss may still be 0.037"),
        ((3, 0, 3), {}, "With 3 rows nothing can be certified at this level: it takes at least 5"),
        ((3, 0, 3), {"delta": 0.2, "tolerance": 0.1}, None),
        ((5, 2, 50), {"priors": {1: 1.0}}, "The gain on these rows, 0.06, is sure only down to -0"),
        ((20, 10, 400), {"tolerance": 0.005}, None),
        ((10, 10, 400), {"tolerance": 0.005}, "The gain on these rows, 0, is sure only down to -0"),
        ((10, 14, 400), {"tolerance": 0.005}, "On these rows it was worse by as much as the tolerance"),
    ],
)
def test_what_stood_in_the_way(rows, settings, words):
    found = certify(*outcomes(*rows), **settings)
    assert found.certified == (words is None)
    assert found.sentence.startswith("Certified" if words is None else "Not certified")
    assert words is None or re.search(words, found.sentence)


def test_every_claim_must_pass():
    n = 400
    y = np.arange(n) % 2
    old = Says(np.where(np.arange(n) % 5 == 0, 1 - y, y))  # wrong on every fifth row
    group = np.where(np.arange(n) < 300, "a", "b")
    new = Says(np.where((np.arange(n) % 5 == 0) & (group == "b"), 1 - y, y))  # right on the rows of group a
    assert certify(new, old, np.arange(n), y).certified
    found = certify(new, old, np.arange(n), y, groups=group, per_class=True, views={"left": np.arange(n)[::-1]})
    assert [e.name for e in found.entries] == ["all rows", "group a", "group b", "class 0", "class 1", "view left"]
    assert {e.name for e in found.entries if not e.certified} == {"group b", "view left"}
    assert not found.certified
    assert found.p_value == found.weakest.p_value == 1
    assert [e.n for e in found.entries] == [400, 300, 100, 200, 200, 400]
    by_class = {e.name: (e.won, e.lost) for e in found.entries}
    assert by_class["class 0"] == by_class["class 1"] == (30, 0)
    kept = Certificate(tuple(e for e in found.entries if e.certified))
    assert "passed all 4 comparisons with the reference (weakest: class 0, error: 30 rows won" in kept.sentence


def test_measures_by_name_by_object_and_with_tolerances_of_their_own():
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(0, 2, n)
    sure = np.where(y == 1, 0.8, 0.2)
    new = Says(y, np.column_stack([1 - sure, sure]))
    old = Says(y, np.column_stack([sure * 0 + 0.5, sure * 0 + 0.5])[:, ::-1], classes=(1, 0))
    cost = BoundedLoss("cost", lambda y, said: 3.0 * (y != said), 3.0)
    found = certify(new, old, np.arange(n), y, measures=["log_loss", "brier", cost], tolerance={"cost": 0.5})
    log_loss, brier, of_cost = found.entries
    assert log_loss.gain == pytest.approx(math.log(0.8 / 0.5))
    assert brier.gain == pytest.approx(0.5 - 2 * 0.2**2)
    assert [e.tolerance for e in found.entries] == [0, 0, 0.5]
    assert of_cost.gain == 0
    assert found.certified  # the same cost on every row is no proof of "not higher", but is one within 0.5
    unknown = bounded_loss("log_loss", None).rows(
        Says(y, new.P, classes=("a", "b")), np.arange(2), np.array(["a", "c"])
    )
    assert unknown[1] == -math.log(0.01)


def test_probabilities_of_single_precision_keep_within_the_bound():
    y = np.arange(300) % 2
    sure = np.column_stack([1 - y, y]).astype(np.float32)  # 0 where it is wrong: the largest loss that counts
    found = certify(Says(y, sure), Says(1 - y, sure[:, ::-1]), np.arange(300), y, measures="log_loss")
    assert found.certified
    assert found.entries[0].gain == pytest.approx(math.log(100))


def test_regression_needs_a_clip_fixed_beforehand():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    new, old = Numbers(y + 0.1), Numbers(y + rng.normal(size=400))
    with pytest.raises(ValueError, match="clip: squared_error needs the largest error that is to count"):
        certify(new, old, np.arange(400), y)
    found = certify(new, old, np.arange(400), y, clip=1.5)
    assert found.certified
    assert found.entries[0].gain == pytest.approx((np.minimum(np.abs(y - old.said), 1.5) ** 2).mean() - 0.01)
    absolute = certify(new, old, np.arange(400), y, clip=1.5, measures="absolute_error").entries[0]
    assert absolute.gain == pytest.approx(np.minimum(np.abs(y - old.said), 1.5).mean() - 0.1)
    assert absolute.lower_bound <= absolute.gain


def test_sorted_rows_are_shuffled_by_the_seed():
    saved = np.linspace(0.5, -0.5, 500)  # no gain at all, the rows that are won first
    new, old = np.maximum(-saved, 0), np.maximum(saved, 0)
    assert betting_p_value((1 + saved) / 2, 0.5, DELTA) < 1e-6
    p_values = [certify_losses(new, old, bound=1, random_state=seed).p_value for seed in (0, 0, 1)]
    assert min(p_values) > DELTA
    assert p_values[0] == p_values[1] != p_values[2]


def test_candidates_are_tested_in_order_until_one_fails():
    y = np.ones(100, dtype=int)
    right = [np.arange(100) < k for k in (60, 75, 66, 90)]  # rows that are right, of the old model's 60 and more
    old, *candidates = [Says(np.where(r, 1, 0)) for r in right]
    tested = certify_in_order(candidates, old, np.arange(100), y, delta=0.01)
    assert [c.certified for c in tested] == [True, False]  # the third is never looked at


def test_the_order_keeps_the_level_and_going_on_after_failures_does_not():
    rng = np.random.default_rng(0)
    stopped, gone_on = [], []
    for _ in range(1500):
        n = 60
        y, X = np.ones(n, dtype=int), np.arange(n)
        old, *candidates = [Says(rng.integers(0, 2, n)) for _ in range(6)]
        stopped.append(any(c.certified for c in certify_in_order(candidates, old, X, y)))
        gone_on.append(any(certify(c, old, X, y).certified for c in candidates))
    assert np.mean(stopped) <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / 1500)
    assert np.mean(gone_on) > 2 * DELTA


def test_crossfit_judges_each_row_by_models_that_had_not_seen_it():
    n = 60
    y = np.arange(n) % 3 == 0
    trained_on = []

    def constant(answer):
        def fit(rows):
            trained_on.append(rows)
            return Says(np.where(np.isin(np.arange(n), rows), ~y, answer))  # wrong on every row that it was given

        return fit

    frame = pd.Series(np.arange(n), index=np.arange(n) + 7)
    found = certify_by_crossfit(constant(y), constant(np.zeros(n, dtype=bool)), frame, y, n_folds=5)
    (entry,) = found.entries
    assert (entry.won, entry.lost) == (20, 0)
    assert len(trained_on) == 10
    assert {len(rows) for rows in trained_on} == {48}
    assert entry.p_value == pytest.approx(norm.sf((1 / 3) / math.sqrt(2 / 9 / n)))
    assert entry.lower_bound == pytest.approx(1 / 3 - norm.isf(0.05) * math.sqrt(2 / 9 / n))
    assert found.asymptotic
    assert found.sentence.startswith("Certified at level 0.05, asymptotically: ")
    nothing = normal_entry(np.zeros(50), bounded_loss("error", None), delta=0.05, tolerance=0.1, n_folds=5)
    assert nothing.p_value == 1


def test_users_slips_are_named():
    new, old, X, y = outcomes(3, 2, 30)
    with pytest.raises(ValueError, match="y: 30 labels, 1 of them missing"):
        certify(new, old, X, [None, *y[1:]])
    with pytest.raises(ValueError, match="y: has 29 labels, and the model gave 30 predictions"):
        certify(new, old, X, y[1:])
    with pytest.raises(ValueError, match=r"delta: must lie between 0 and 1, got 1\.5"):
        certify(new, old, X, y, delta=1.5)
    with pytest.raises(ValueError, match="tolerance: must be at least 0 and below 1, the bound of error; got -1"):
        certify(new, old, X, y, tolerance=-1)
    with pytest.raises(ValueError, match=r"measures: takes some of error, log_loss.*got 'accuracy'"):
        certify(new, old, X, y, measures="accuracy")
    with pytest.raises(ValueError, match=r"priors: has \[0, 1\], and the rows have classes \[1\]"):
        certify(new, old, X, y, priors={0: 0.5, 1: 0.5})
    with pytest.raises(ValueError, match=r"tolerance: names \['brier'\]; the measures are \['error'\]"):
        certify(new, old, X, y, tolerance={"brier": 0.1})
    with pytest.raises(ValueError, match="y: priors need the class of every row"):
        certify_losses(np.zeros(2), np.ones(2), bound=1, priors={1: 1.0})
    with pytest.raises(ValueError, match="priors: must be shares that sum to 1"):
        certify(new, old, X, y, priors={1: 0.5})
    with pytest.raises(ValueError, match=r"of the new model must lie in \[0, 1\], found 0 to 2; a bound that rows"):
        certify_losses(np.array([0.0, 2.0]), np.zeros(2), bound=1)
    with pytest.raises(ValueError, match="groups: needs one entry for each of the 30 rows"):
        certify(new, old, X, y, groups=["a"])


def test_the_examples_of_the_docs_run(capsys):
    text = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text()
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "certificate.md", "exec"), scope)
    said = capsys.readouterr().out
    for sentence in re.findall(r"^    ((?:Not c|C)ertified .*)$", text, flags=re.MULTILINE):
        assert sentence in said
