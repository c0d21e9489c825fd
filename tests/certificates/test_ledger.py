"""Rows that are used up, and tests that are counted."""

import numpy as np
import pytest

from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify, certify_in_order
from safegain.certificates.fresh import each_once
from safegain.certificates.ledger import NO_ROWS, Ledger, Trial, UsedRows
from safegain.certificates.sign_test import sign_test
from safegain.certificates.stream import certify_stream
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


def trial(ledger, certified, delta=0.05):
    return Trial(delta, ledger.level(delta), certified, rows=0)


def test_each_test_spends_four_fifths_of_what_is_left_and_a_certified_one_gives_it_back():
    ledger = Ledger()
    assert ledger.level(0.05) == pytest.approx(0.04)
    for outcome, level in [(False, 0.008), (True, 0.008), (False, 0.0016)]:
        ledger.write(NO_ROWS, trial(ledger, outcome))
        assert ledger.level(0.05) == pytest.approx(level)
    ledger, levels = Ledger(), []
    for _ in range(12):
        levels.append(ledger.level(1.0))
        ledger.write(NO_ROWS, trial(ledger, False, 1.0))
    assert sum(levels) == pytest.approx(1, abs=1e-8)
    ledger.write(NO_ROWS, trial(ledger, False, 1.0))
    with pytest.raises(
        ValueError, match="delta: earlier tests of this ledger have used up a level of 1, so that 1 can"
    ):
        ledger.level(1.0)


def test_what_was_spent_at_a_larger_level_is_spent():
    X, y = rows(300)
    ledger = Ledger()
    assert not certify(OLD, NEW, X[:100], y[:100], 0.3, ledger=ledger).certified  # at level 0.24
    with pytest.raises(ValueError, match=r"delta: earlier tests of this ledger have used up a level of 0\.24"):
        certify(NEW, OLD, X[100:200], y[100:200], 0.05, ledger=ledger)
    found = certify(NEW, OLD, X[200:], y[200:], 0.5, ledger=ledger)
    assert found.entries[0].delta == pytest.approx(0.8 * 0.26)
    assert "This is test 2 of its ledger, at level 0.208; the tests so far keep level 0.5." in found.sentence


def test_a_smaller_level_does_not_undo_a_larger_one():
    X, y = rows(300)
    ledger = Ledger()
    assert certify(NEW, OLD, X[:200], y[:200], 0.3, ledger=ledger).certified
    found = certify(NEW, OLD, X[200:], y[200:], 0.05, ledger=ledger)
    assert "at level 0.04; the tests so far keep level 0.3." in found.sentence


@pytest.mark.parametrize("n_tests", [3, 8])
def test_many_tests_of_models_that_are_no_better_keep_one_level(n_tests):
    """Each time a new model that is just as good as the old one, on 200 new rows on which the two differ."""
    rng, draws, false, plain = np.random.default_rng(0), 4000, 0, 0
    for _ in range(draws):
        ledger, p_values = Ledger(), [sign_test(won, 200 - won) for won in rng.binomial(200, 0.5, n_tests)]
        plain += min(p_values) <= DELTA
        for p_value in p_values:
            ledger.write(NO_ROWS, trial(ledger, p_value <= ledger.level(DELTA), DELTA))
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
    assert "This is test 2 of its ledger, at level 0.04; the tests so far keep level 0.05." in found.sentence


def test_few_rows_that_happen_to_be_there_twice_are_left_out():
    X, y = rows(300)
    ledger = Ledger()
    certify(NEW, OLD, X[:200], y[:200], ledger=ledger)
    mixed = np.r_[0:2, 200:300]
    found = certify(NEW, OLD, X[mixed], y[mixed], ledger=ledger)
    assert [(each.name, each.n) for each in found.entries] == [("all rows", 102), ("all rows, repeats left out", 100)]
    assert "2 rows repeat others or used ones: each claim was tested with them and without them." in found.sentence


def test_a_few_rows_of_the_fit_are_left_out():
    """Too few to be refused, and enough to certify a model that has memorised them."""
    X, y = rows(300)
    found = certify(NEW, OLD, X[:200], y[:200], ledger=Ledger(np.concatenate([X[:4], X[200:]])))
    assert [each.n for each in found.entries] == [200, 196]


def test_copies_within_a_file_count_once():
    X, y = rows(100)
    once = certify(NEW, OLD, X, y)
    twice = certify(NEW, OLD, np.tile(X, (4, 1)), np.tile(y, 4))
    assert [each.n for each in twice.entries] == [400, 100]
    assert twice.entries[0].p_value < twice.entries[1].p_value == twice.p_value == once.p_value
    assert "300 rows repeat others or used ones: each claim was tested with them and without them." in twice.sentence
    assert "repeat others" not in once.sentence
    assert twice.sentence.startswith(once.sentence.split(" on data")[0])  # one claim still, not one of two
    assert "the error of the new model is not higher than that of the reference (" in twice.sentence


def test_which_copy_is_tested_is_drawn():
    D = digests(np.tile(np.arange(1.0, 51)[:, None], (2, 1)))
    kept = np.flatnonzero(each_once(D, np.zeros(100, np.uint64)))
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
    second.write(second.learned_from, trial(second, False))
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

    with pytest.raises(ValueError, match="X: every row of group single repeats one that counts elsewhere"):
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
    kept = np.r_[0:60, 0:40]
    twins, t = X[kept], y[kept]  # others that look like rows of the fit, and like each other
    found = certify(NEW, OLD, twins, t, ledger=ledger)
    assert [each.n for each in found.entries] == [100]
    assert "By their ids all rows are new, but 100 look like rows that were used." in found.sentence
    ledger.name(names[199:299])
    with pytest.raises(UsedRows, match=r"1 of 100 rows \(row 0 first\) were tested before"):
        certify(NEW, OLD, X[199:299], y[199:299], ledger=ledger)
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
    with pytest.raises(ValueError, match="ids: 'a' names two rows; give each row its own"):
        ledger.name(["b", "a", "c", "a"])
    with pytest.raises(ValueError, match="ids: 3 names for 100 rows; give each row its own"):
        Ledger(X[:100], ids=["a", "b", "c"])
    ledger.name(["a", "b"])
    with pytest.raises(ValueError, match="ids: 2 names for 50 rows; give each row its own"):
        certify(NEW, OLD, X[150:200], y[150:200], ledger=ledger)


def test_names_are_those_of_one_test_even_if_it_fails():
    X, y = rows(300)
    ledger = Ledger(X[:100], ids=np.arange(100))
    ledger.name(np.arange(100, 200))
    with pytest.raises(ValueError, match="y: 100 labels, 1 of them missing"):
        certify(NEW, OLD, X[100:200], np.r_[np.nan, y[101:200]], ledger=ledger)
    ledger.name(np.arange(100, 200))
    with pytest.raises(ValueError, match="groups"):
        certify(NEW, OLD, X[100:200], y[100:200], Claims(per_group=True), ledger=ledger)


@pytest.mark.parametrize("named", [np.arange(100.0), [f"{i:04d}" for i in range(100)], np.arange(100).astype(str)])
def test_a_number_is_one_name_however_it_is_written(named):
    X, y = rows(100)
    ledger = Ledger(X, ids=np.arange(100))
    ledger.name(named)
    with pytest.raises(UsedRows, match="were in the fit"):
        certify(NEW, OLD, X, y, ledger=ledger)


def test_rows_of_an_earlier_fit_are_known_by_their_cells():
    X, y = rows(300)
    ledger = Ledger()
    ledger.show(X[:200])
    certify(NEW, OLD, 2 * X[:200] + 1, y[:200], ledger=ledger)  # as some encoder has them
    after = ledger.after(NO_ROWS)
    after.show(X[100:])
    with pytest.raises(UsedRows, match=r"100 of 200 rows \(row 0 first\) were tested before"):
        certify(NEW, OLD, 3 * X[100:] + 1, y[100:], ledger=after)
    after.show(X[200:])
    certify(NEW, OLD, 3 * X[200:] + 1, y[200:], ledger=after)
    assert len(after.tested_cells) == 300


def mostly_alike(n, rng):
    """Four rows of five are one of ten kinds, and there the new model is worse; on others it is better."""
    kind, many = rng.integers(0, 10, n), rng.random(n) < 0.8
    X = np.where(many, kind + 1.0, rng.normal(size=n) * 1e3)
    wins = rng.random(n) < np.where(many, 0.3, 0.9)  # of the rows on which they differ, that is all
    return np.column_stack([X, np.where(wins, 1.0, -1.0) * 1.0]), wins


class Winner:
    """Right where the last column says so; the rival where it does not."""

    classes_ = np.array([0, 1])

    def __init__(self, sign):
        self.sign = sign

    def predict(self, X):
        return (self.sign * X[:, 1] > 0).astype(int)


def test_rows_that_are_honestly_alike_count_in_full():
    """Without them the new model would be certified, although it is worse on rows like these."""
    rng, plain, both = np.random.default_rng(0), 0, 0
    for _ in range(40):
        X, _ = mostly_alike(600, rng)
        found = certify(Winner(1), Winner(-1), X, np.ones(600, int))
        every, once = found.entries
        assert (every.n, every.name, once.name) == (600, "all rows", "all rows, repeats left out")
        plain += once.certified
        both += found.certified
    assert plain == 40
    assert both == 0
    stream = certify_stream(Winner(1), Winner(-1), X)
    while stream.next_row is not None:
        stream.answer(1)
    assert [each.certified for each in stream.certificate.entries] == [False, True]
    assert not stream.certified


def test_the_order_of_a_file_changes_nothing():
    """Or else one could try orders until one certifies."""
    rng = np.random.default_rng(0)
    X, y = rows(200)
    X[150:], y[150:] = X[:50], 1 - y[:50]  # copies that contradict each other

    class Sure(Sign):
        def predict_proba(self, Z):
            return np.column_stack([1 - Z[:, self.column] % 1, Z[:, self.column] % 1])

    found = []
    for _ in range(5):
        order = rng.permutation(200)
        claims = Claims(measures=["error", "brier"], priors={0: 0.4, 1: 0.6})
        found.append(certify(Sure(0), Sure(1), X[order], y[order], claims))
        found[-1] = [(each.name, each.measure, each.p_value) for each in found[-1].entries]
        stream = certify_stream(NEW, OLD, X[order])
        found[-1].append(digests(X[order][stream.order]).tolist())
    assert all(each == found[0] for each in found[1:])


def test_rows_that_are_alike_and_not_equal_have_one_order_too():
    """Two models may differ on them, so that their order in the file could be chosen by who knows the labels."""
    k = np.repeat(np.arange(200), 2)
    X = np.column_stack([1000.0 + k + 0.02 * (np.arange(400) % 2), np.ones(400)])  # one digest for each pair

    class Last:
        classes_ = np.array([0, 1])

        def __init__(self, turned):
            self.turned = turned

        def predict(self, Z):
            return ((np.asarray(Z)[:, 0] % 1 > 0.01) ^ self.turned).astype(int)

    found = []
    for order in (np.arange(400), np.arange(400) ^ 1, np.random.default_rng(0).permutation(400)):
        stream = certify_stream(Last(False), Last(True), X[order])
        found.append((X[order][stream.order].tolist(), X[order][stream.pool.once].sum()))
    assert found[0] == found[1] == found[2]


def test_a_stream_that_is_refused_spends_nothing():
    X, _ = rows(200)
    X[1] = X[0]
    ledger, group = Ledger(), np.where(np.arange(200) < 1, "a", "b")
    group_of_copy = np.where(np.arange(200) == 1, "a", "b")
    counts = certify_stream(NEW, OLD, X).pool.once[0]  # or else its copy does
    with pytest.raises(ValueError, match="every row of group a repeats"):
        certify_stream(NEW, OLD, X, groups=group_of_copy if counts else group, ledger=ledger)
    assert ledger.outcomes == []


def test_cells_and_names_together():
    """Who leaves the ids out, or gives them now, does not make tested rows fresh."""
    X, y = rows(300)
    names = [f"row {i}" for i in range(100)]
    for first, second in ((None, names), (names, None)):
        ledger = Ledger()
        for said, scale in ((first, 2), (second, 3)):
            ledger.show(X[:100])
            if said is not None:
                ledger.name(said)
            if scale == 2:
                certify(NEW, OLD, scale * X[:100] + 1, y[:100], ledger=ledger)
                ledger = ledger.after(NO_ROWS)
        with pytest.raises(UsedRows, match="were tested before"):
            certify(NEW, OLD, 3 * X[:100] + 1, y[:100], ledger=ledger)


def test_what_was_said_of_a_test_is_gone_with_it_but_after_a_refusal():
    X, y = rows(300)
    ledger = Ledger(X[:100], ids=np.arange(100))
    ledger.allow("reason for this file")
    with pytest.raises(ValueError, match="y: 100 labels, 1 of them missing"):
        certify(NEW, OLD, X[:100], np.r_[np.nan, y[1:100]], ledger=ledger)
    ledger.name(np.arange(100))
    with pytest.raises(UsedRows):  # it is not allowed any more
        certify(NEW, OLD, X[:100], y[:100], ledger=ledger)
    ledger.allow("they are others")
    certify(NEW, OLD, X[:100], y[:100], ledger=ledger)
    assert ledger.tested_ids.any()


def test_codes_with_zeros_in_front_may_stand_beside_others():
    Ledger(np.arange(3.0)[:, None]).name(["7", "007", "8"])


def test_priors_need_a_row_that_repeats_no_other():
    X, y = rows(60)
    y[:] = 1
    y[:2], X[1] = 0, X[0]
    learned = np.concatenate([X[:1], rows(300, seed=5)[0]])
    claims = Claims(priors={0: 0.5, 1: 0.5})
    with pytest.raises(ValueError, match=r"X: every row of class 0 repeats one .* so that priors cannot weigh it"):
        certify(NEW, OLD, X, y, claims, ledger=Ledger(learned))
