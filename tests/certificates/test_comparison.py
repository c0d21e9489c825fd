"""A certificate is wrong no more often than it says, and says what it knows."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from safegain.certificates.betting import betting_p_value
from safegain.certificates.certificate import Certificate
from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify, certify_in_order, certify_losses
from tests.certificates.rivals import DELTA, DRAWS, NO_MORE, UP_TO_ONE, ZERO_ONE, Numbers, Says, outcomes


@pytest.mark.parametrize("by_design", [True, False])
def test_priors_keep_the_level_whatever_drew_the_classes(by_design):
    """Class 0 gains as much as class 1 loses; half and half in use, four to one in the rows."""

    def draw(rng):
        n = 150
        y = (np.arange(n) < 0.2 * n) if by_design else rng.random(n) < 0.2
        u, gain = rng.random(n), np.where(y, -0.3, 0.3)
        labels.append(y)
        return ((u >= (0.4 + gain) / 2) & (u < 0.4)).astype(float), (u < (0.4 + gain) / 2).astype(float)

    labels, rng, even = [], np.random.default_rng(0), Claims(DELTA, priors={False: 0.5, True: 0.5})
    weighted, plain = [], []
    for i in range(DRAWS):
        new, old = draw(rng)
        weighted.append(certify_losses(new, old, ZERO_ONE, even, y=labels[-1], random_state=i).certified)
        plain.append(certify_losses(new, old, ZERO_ONE, DELTA, random_state=i).certified)
    assert np.mean(weighted) <= NO_MORE
    assert np.mean(plain) > 0.5  # it is the weights that keep it


def test_priors_find_a_gain_that_holds_under_them():
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 10 > 0  # nine in ten
    saved = np.where(y, rng.random(1000) < 0.05, rng.random(1000) < 0.4).astype(float)
    entry = certify_losses(np.zeros(1000), saved, UP_TO_ONE, Claims(priors={False: 0.5, True: 0.5}), y=y)
    assert entry.certified
    assert entry.gain == pytest.approx(0.5 * saved[y].mean() + 0.5 * saved[~y].mean())
    assert 0 < entry.lower_bound < 0.225


def test_a_certificate_and_its_sentence():
    found = certify(*outcomes(31, 12, 400))
    assert found.certified
    assert found.n == 400
    assert found.p_value == binomtest(31, 43, alternative="greater").pvalue
    assert 0 < found.lower_bound < 19 / 400
    assert found.sentence == (
        "Certified at level 0.05: on data like these 400 fresh rows, the error of the new model is not higher than "
        "that of the reference (31 rows won, 12 lost, p = 0.0027). Of earlier tests nothing is known here."
    )
    assert json.loads(json.dumps(found.as_dict()))["entries"][0]["won"] == 31
    assert "all rows" in str(found)


@pytest.mark.parametrize(
    ("rows", "settings", "words"),
    [
        (
            (5, 2, 50),
            {},
            r"If it really is better by the 6 points seen here, a test on \d+ new rows would show it 4 times in 5",
        ),
        ((2, 5, 50), {}, "On these rows the new model was not better"),
        (
            (0, 0, 200),
            {},
            "equally well on all 200 rows, which proves .* there the new one may still be worse by 0.037",
        ),
        ((3, 0, 3), {}, "With 3 rows nothing can be certified at this level: it takes at least 5"),
        ((3, 0, 3), {"delta": 0.2, "tolerance": 0.1}, None),
        ((5, 2, 50), {"priors": {1: 1.0}}, "The gain on these rows is 0.06, but the true gain may be as low as -0"),
        ((20, 10, 400), {"tolerance": 0.005}, None),
        ((10, 10, 400), {"tolerance": 0.005}, "The gain on these rows is 0, but the true gain may be as low as -0"),
        ((10, 14, 400), {"tolerance": 0.005}, "On these rows the new model was worse by the tolerance or more"),
    ],
)
def test_what_stood_in_the_way(rows, settings, words):
    found = certify(*outcomes(*rows), Claims(**settings))
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
    views = {"left": np.arange(n)[::-1]}
    found = certify(new, old, np.arange(n), y, Claims(per_class=True), groups=group, views=views)
    assert [e.name for e in found.entries] == ["all rows", "group a", "group b", "class 0", "class 1", "view left"]
    assert {e.name for e in found.entries if not e.certified} == {"group b", "view left"}
    assert not found.certified
    assert found.p_value == found.weakest.p_value == 1
    assert [e.n for e in found.entries] == [400, 300, 100, 200, 200, 400]
    by_class = {e.name: (e.won, e.lost) for e in found.entries}
    assert by_class["class 0"] == by_class["class 1"] == (30, 0)
    kept = Certificate(tuple(e for e in found.entries if e.certified))
    assert "passed all 4 comparisons with the reference (weakest: class 0, error: 30 rows won" in kept.sentence


def test_sorted_rows_are_shuffled_by_the_seed():
    saved = np.linspace(0.5, -0.5, 500)  # no gain at all, the rows that are won first
    new, old = np.maximum(-saved, 0), np.maximum(saved, 0)
    assert betting_p_value((1 + saved) / 2, 0.5, DELTA) < 1e-6
    p_values = [certify_losses(new, old, UP_TO_ONE, random_state=seed).p_value for seed in (0, 0, 1)]
    assert min(p_values) > DELTA
    assert p_values[0] == p_values[1] != p_values[2]


def test_candidates_are_tested_in_order_until_one_fails():
    y = np.ones(100, dtype=int)
    right = [np.arange(100) < k for k in (60, 75, 66, 90)]  # rows that are right, of the old model's 60 and more
    old, *candidates = [Says(np.where(r, 1, 0)) for r in right]
    tested = certify_in_order(candidates, old, np.arange(100), y, 0.01)
    assert [c.certified for c in tested] == [True, False]  # the third is never looked at


def test_the_order_keeps_the_level_and_going_on_after_failures_does_not():
    rng = np.random.default_rng(0)
    stopped, gone_on, draws = [], [], 600
    for _ in range(draws):
        n = 60
        y, X = np.ones(n, dtype=int), np.arange(n)
        old, *candidates = [Says(rng.integers(0, 2, n)) for _ in range(6)]
        stopped.append(any(c.certified for c in certify_in_order(candidates, old, X, y)))
        gone_on.append(
            any(certify_losses(1.0 * (c.said != y), 1.0 * (old.said != y), ZERO_ONE).certified for c in candidates)
        )
    assert np.mean(stopped) <= DELTA + 3 * math.sqrt(DELTA * (1 - DELTA) / draws)
    assert np.mean(gone_on) > 2 * DELTA


def test_users_slips_are_named():
    new, old, X, y = outcomes(3, 2, 30)
    with pytest.raises(ValueError, match="y: 30 labels, 1 of them missing"):
        certify(new, old, X, [None, *y[1:]])
    with pytest.raises(ValueError, match="y: has 29 labels and X has 30 rows"):
        certify(new, old, X, y[1:])
    for level in (1.5, None):
        with pytest.raises(ValueError, match=f"Claims: delta must be a number between 0 and 1, got {level}"):
            certify(new, old, X, y, level)
    with pytest.raises(ValueError, match="tolerance: must be below 1, the largest error there can be; got 1"):
        certify(new, old, X, y, Claims(tolerance=1))
    with pytest.raises(ValueError, match=r"priors: names \[0, 1\], but the rows have the classes \[1\]"):
        certify(new, old, X, y, Claims(priors={0: 0.5, 1: 0.5}))
    with pytest.raises(ValueError, match=r"tolerance: names \['brier'\]; the measures are \['error'\]"):
        certify(new, old, X, y, Claims(tolerance={"brier": 0.1}))
    with pytest.raises(ValueError, match="y: priors need the class of every row"):
        certify_losses(np.zeros(2), np.ones(2), UP_TO_ONE, Claims(priors={1: 1.0}))
    with pytest.raises(ValueError, match=r"of the new model must lie in \[0, 1\], found 0 to 2; a bound that rows"):
        certify_losses(np.array([0.0, 2.0]), np.zeros(2), UP_TO_ONE)
    with pytest.raises(ValueError, match="groups: needs one entry for each of the 30 rows"):
        certify(new, old, X, y, groups=["a"])


def test_claims_that_have_no_use_on_fresh_rows_are_refused():
    new, old, X, y = outcomes(3, 2, 30)
    with pytest.raises(ValueError, match="claims: size=20 is for a fit; here every row of X is used"):
        certify(new, old, X, y, Claims(size=20))
    with pytest.raises(ValueError, match="claims: per_group=True needs the group of every row; give groups"):
        certify(new, old, X, y, Claims(per_group=True))
    with pytest.raises(ValueError, match=r"clip: is for squared_error and absolute_error, .* are \['error'\]"):
        certify(new, old, X, y, Claims(clip=2.0))
    numbers = Numbers(y)
    with pytest.raises(ValueError, match="priors: is about classes, and the labels of a regression are numbers"):
        certify(numbers, numbers, X, y, Claims(priors={1: 1.0}, clip=1.0))


def test_groups_are_claimed_one_by_one_whether_or_not_claims_insist_on_them():
    new, old, X, y = outcomes(9, 2, 30)
    found = [certify(new, old, X, y, Claims(per_group=insists), groups=X % 2) for insists in (True, False)]
    assert found[0] == found[1]
    assert [entry.name for entry in found[0].entries] == ["all rows", "group 0", "group 1"]


def test_a_level_is_short_for_claims():
    new, old, X, y = outcomes(9, 2, 30)
    assert certify(new, old, X, y, 0.2) == certify(new, old, X, y, Claims(0.2)) != certify(new, old, X, y)
    (in_order,) = certify_in_order([new], old, X, y, Claims(0.2, tolerance=0.1), groups=X % 2)
    assert in_order == certify(new, old, X, y, Claims(0.2, tolerance=0.1), groups=X % 2)


def test_the_examples_of_the_docs_run(capsys):
    text = (Path(__file__).parents[2] / "docs" / "certificate.md").read_text()
    scope: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(block, "certificate.md", "exec"), scope)
    said = capsys.readouterr().out
    for sentence in re.findall(r"^    ((?:Not c|C)ertified .*)$", text, flags=re.MULTILINE):
        assert sentence in said


def test_no_p_is_said_to_be_zero():
    loss = np.zeros(2000)
    entry = certify_losses(loss, loss + 1, ZERO_ONE)
    assert entry.p_value == 0  # 2^-2000 is no float
    assert "2,000 rows won, 0 lost, p < 1e-300" in Certificate((entry,)).sentence
