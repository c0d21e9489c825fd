"""Rows that are used up, and tests that are counted."""

import numpy as np
import pytest

from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify, certify_in_order
from safegain.certificates.ledger import NO_ROWS, Ledger, UsedRows, each_once
from safegain.certificates.sign_test import sign_test
from safegain.data.digest import digests
from tests.certificates.rivals import DELTA, Says


class Sign:
    """Says 1 where a column is above zero."""

    classes_ = np.array([0, 1])

    def __init__(self, column):
        self.column = column

    def predict(self, X):
        return (np.asarray(X)[:, self.column] > 0).astype(int)


NEW, OLD = Sign(0), Sign(1)


def rows(n, seed=0, good=0.9):
    """Rows of four columns; the first one tells the label `good` of the time, the second one in seven of ten rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(rng.random(n) < good, X[:, 0] > 0, X[:, 0] <= 0).astype(int)
    X[:, 1] = np.abs(X[:, 1]) * np.where(rng.random(n) < 0.7, 2 * y - 1, 1 - 2 * y)
    return X, y


def test_each_test_spends_four_fifths_of_what_is_left_and_a_certified_one_gives_it_back():
    ledger = Ledger()
    assert ledger.level(0.05) == pytest.approx(0.04)
    for outcome, level in [(False, 0.008), (True, 0.008), (False, 0.0016)]:
        ledger.write(NO_ROWS, certified=outcome)
        assert ledger.level(0.05) == pytest.approx(level)
    levels = []
    for _ in range(30):
        levels.append(ledger.level(1.0))
        ledger.write(NO_ROWS, certified=False)
    assert sum(levels) + 0.8 + 0.16 == pytest.approx(1)


@pytest.mark.parametrize("n_tests", [3, 8])
def test_many_tests_of_models_that_are_no_better_keep_one_level(n_tests):
    """Each time a new model that is just as good as the old one, on 200 new rows on which the two differ."""
    rng, draws, false, plain = np.random.default_rng(0), 4000, 0, 0
    for _ in range(draws):
        ledger, p_values = Ledger(), [sign_test(won, 200 - won) for won in rng.binomial(200, 0.5, n_tests)]
        plain += min(p_values) <= DELTA
        for p_value in p_values:
            ledger.write(NO_ROWS, certified=p_value <= ledger.level(DELTA))
        false += any(ledger.outcomes)
    assert false / draws <= DELTA
    assert plain / draws > 2 * DELTA  # it is the ledger that keeps it


def test_rows_of_the_fit_are_refused_also_after_a_trip_through_a_csv():
    X, y = rows(400)
    fresh, t = rows(200, seed=1)
    ledger = Ledger(X)
    rounded = np.array([[float(f"{v:.6g}") for v in row] for row in X[:200]])
    for used in (X[:200], rounded, np.concatenate([fresh[:100], X[:100]])):
        with pytest.raises(
            ValueError, match=r"X: \d+ of 200 rows \(row \d+ first\) were in the fit; a certificate needs"
        ):
            certify(NEW, OLD, used, y[:200], ledger=ledger)
    assert ledger.outcomes == []  # a test that is refused is none
    assert certify(NEW, OLD, fresh, t, ledger=ledger).certified


def test_the_same_rows_again_are_refused_and_so_is_a_file_that_has_grown():
    X, y = rows(300)
    ledger = Ledger()
    certify(NEW, OLD, X[:200], y[:200], ledger=ledger)
    for again in (slice(200), slice(300), slice(100, 250)):
        with pytest.raises(ValueError, match="were tested before"):
            certify(NEW, OLD, X[again], y[again], ledger=ledger)
    assert ledger.outcomes == [True]
    found = certify(NEW, OLD, X[200:], y[200:], ledger=ledger)
    assert "This is test 2, at level 0.04: all tests together keep level 0.05." in found.sentence


def test_few_rows_that_happen_to_be_there_twice_are_left_out():
    X, y = rows(300)
    ledger = Ledger()
    certify(NEW, OLD, X[:200], y[:200], ledger=ledger)
    mixed = np.r_[0:2, 200:300]
    found = certify(NEW, OLD, X[mixed], y[mixed], ledger=ledger)
    assert found.n == 100
    assert "2 rows that repeat others or used ones were left out." in found.sentence


def test_a_few_rows_of_the_fit_are_left_out():
    """Too few to be refused, and enough to certify a model that has memorised them."""
    X, y = rows(300)
    found = certify(NEW, OLD, X[:200], y[:200], ledger=Ledger(np.concatenate([X[:4], X[200:]])))
    assert found.n == 196


def test_copies_within_a_file_count_once():
    X, y = rows(100)
    once = certify(NEW, OLD, X, y)
    twice = certify(NEW, OLD, np.tile(X, (4, 1)), np.tile(y, 4))
    assert twice.n == 100
    assert twice.p_value == once.p_value
    assert "300 rows that repeat others or used ones were left out" in twice.sentence
    assert "repeat others" not in once.sentence


def test_which_copy_is_tested_is_drawn():
    D = digests(np.tile(np.arange(1.0, 51)[:, None], (2, 1)))
    kept = each_once(D, np.arange(100))
    assert sorted(kept % 50) == list(range(50))
    assert 10 < (kept < 50).sum() < 40


def test_what_is_allowed_is_said_and_holds_for_one_test():
    X, y = rows(200)
    ledger = Ledger(X)
    ledger.allow("the sensors repeat themselves")
    found = certify(NEW, OLD, X, y, ledger=ledger)
    assert 'Whether the rows are fresh was not asked, because: "the sensors repeat themselves".' in found.sentence
    with pytest.raises(ValueError, match="were in the fit"):
        certify(NEW, OLD, X, y, ledger=ledger)


def test_a_next_fit_takes_the_tests_over_and_not_the_rows():
    X, y = rows(200)
    first = Ledger(X[:50])
    certify(NEW, OLD, X[50:], y[50:], ledger=first)
    second = first.after(digests(X[100:]))
    assert second.outcomes == [True]
    second.write(second.learned_from, certified=False)
    assert first.outcomes == [True]
    np.testing.assert_array_equal(second.tested[:150], first.tested)


def test_candidates_in_order_are_one_test():
    X, y = rows(300)
    ledger = Ledger()
    found = certify_in_order([NEW, OLD, NEW], OLD, X, y, ledger=ledger)
    assert [each.certified for each in found] == [True, False]
    assert ledger.outcomes == [False]  # one has failed: its level is spent
    assert len(ledger.tested) == 300


def test_without_a_ledger_nothing_is_known():
    X, y = rows(200)
    assert certify(NEW, OLD, X, y).sentence.endswith("Of earlier tests nothing is known here.")


def test_groups_and_classes_without_rows_are_an_error():
    X, y = rows(60)
    single = np.where(np.arange(60) == 59, "single", "others")
    X[59] = X[58]

    def attempts():
        for first in range(20):  # which of the two counts is drawn
            certify(NEW, OLD, X[first:], y[first:], groups=single[first:])

    with pytest.raises(ValueError, match="groups: every row of group single repeats a row that counts elsewhere"):
        attempts()
    with pytest.raises(ValueError, match="per_class=True asks for a claim about class 1, and no fresh row is of it"):
        certify(Says(np.zeros(40)), Says(np.zeros(40)), np.arange(40.0), np.zeros(40), Claims(per_class=True))


def test_names_decide_where_rows_have_some():
    X, y = rows(300)
    names = [f"row {i}" for i in range(300)]
    ledger = Ledger(X[:100], ids=names[:100])
    ledger.name([*names[100:199], "row 7"])
    with pytest.raises(UsedRows, match=r"1 of 100 rows \(row 99 first\) were in the fit"):
        certify(NEW, OLD, X[100:200], y[100:200], ledger=ledger)
    ledger.name(names[100:200])
    twins = np.concatenate([X[:30], X[:30], X[100:140]])  # others that look like rows of the fit, and like each other
    found = certify(NEW, OLD, twins, np.concatenate([y[:30], y[:30], y[100:140]]), ledger=ledger)
    assert found.n == 100
    assert "left out" not in found.sentence
    ledger.name(names[199:299])
    with pytest.raises(UsedRows, match=r"1 of 100 rows \(row 0 first\) were tested before"):
        certify(NEW, OLD, X[199:299], y[199:299], ledger=ledger)
    ledger.named = None  # without names, values decide
    with pytest.raises(UsedRows, match="a certificate needs fresh ones"):
        certify(NEW, OLD, twins, np.zeros(100, int), ledger=ledger)


def test_names_of_a_test_say_nothing_of_rows_without_names():
    X, y = rows(300)
    ledger = Ledger(X[:100])
    certify(NEW, OLD, X[100:150], y[100:150], ledger=ledger)
    for used, what in ((X[:50], "in the fit"), (X[100:150], "tested before")):
        ledger.name([f"row {i}" for i in range(50)])
        with pytest.raises(UsedRows, match=what):
            certify(NEW, OLD, used, y[:50], ledger=ledger)
    ledger.name(["a", "b"])
    with pytest.raises(ValueError, match="ids: 2 names for 50 rows; give each row its own"):
        certify(NEW, OLD, X[150:200], y[150:200], ledger=ledger)
