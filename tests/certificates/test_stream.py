"""A certificate by disagreements: which rows are asked for, what their labels show, and what is refused."""

import json

import numpy as np
import pytest

from safegain import PGSRegressor
from safegain.certificates.anytime import log_evidence
from safegain.certificates.bounded_losses import BoundedLoss
from safegain.certificates.claims import Claims
from safegain.certificates.ledger import NO_ROWS, Ledger, Trial
from safegain.certificates.stream import certify_stream
from tests.certificates.rivals import Says

N = 1000
ROWS = np.arange(N)


def rivals(differing=200, classes=2, seed=0):
    """Right labels, a model that is right on three of four differing rows, and one that is right on the others."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, N)
    differ = np.isin(ROWS, rng.permutation(N)[:differing])
    wins = rng.random(N) < 0.75
    other = (y + 1) % classes
    names = tuple(range(classes))
    new, old = np.where(differ & ~wins, other, y), np.where(differ & wins, other, y)
    return y, Says(new, classes=names), Says(old, classes=names)


def answered(stream, y):
    while stream.next_row is not None and not stream.certified:
        stream.answer(y[stream.next_row])
    return stream


def test_only_differing_rows_are_asked_for_in_random_order():
    _, new, old = rivals()
    stream = certify_stream(new, old, ROWS)
    assert sorted(stream.order) == np.flatnonzero(new.said != old.said).tolist()
    assert not np.array_equal(stream.order, np.sort(stream.order))
    np.testing.assert_array_equal(stream.order, certify_stream(new, old, ROWS).order)


def test_labels_until_it_is_certified():
    y, new, old = rivals()
    stream = answered(certify_stream(new, old, ROWS), y)
    found = stream.certificate
    entry = found.entries[0]
    assert found.certified
    assert 10 < len(stream.labels) < 80
    assert stream.evidence[-1] >= 20 > stream.evidence[:-1].max()
    assert entry.p_value == pytest.approx(1 / stream.evidence[-1])
    assert (entry.won, entry.lost) == (sum(g > 0 for g in stream.gains), sum(g < 0 for g in stream.gains))
    assert 0 <= entry.lower_bound < entry.gain < 0.2
    assert found.sentence == (
        "Certified at level 0.05: on data like this pool of 1,000 fresh rows, of which 200 differ and "
        f"{entry.n} were labelled, the error of the new model is not higher than that of the reference "
        f"({entry.won} rows won, {entry.lost} lost, p = {entry.p_value:.2g}). Of earlier tests nothing is known here."
    )
    assert json.loads(json.dumps(found.as_dict()))["pool"] == {"rows": N, "differing": 200, "labelled": entry.n}
    assert stream.likely_needed == 0
    for _ in range(5):  # more labels do not take it back
        stream.cannot_tell()
    assert stream.certified


def test_a_worse_model_is_seen_to_be_worse():
    y, new, old = rivals()
    stream = certify_stream(old, new, ROWS)
    for _ in range(80):
        stream.answer(y[stream.next_row])
    assert not stream.certified
    assert stream.counter_evidence.max() >= 20
    assert stream.likely_needed is None
    assert stream.certificate.sentence.count("The labels show that the new model is worse.") == 1


def test_what_is_likely_needed_is_told_before_it_is_certified():
    _, new, old = rivals()
    stream = certify_stream(new, old, ROWS)
    assert stream.certificate.sentence.count("No row that it is about has a label yet.") == 1
    for _ in range(5):
        stream.answer(new.said[stream.next_row])
    more = stream.likely_needed
    assert more >= 2
    assert f"some {more} more labels would show it." in stream.certificate.sentence


def test_rows_that_nobody_can_tell_are_lost_and_rows_that_both_get_wrong_are_neither():
    _, new, old = rivals(classes=3)
    stream = certify_stream(new, old, ROWS)
    row = stream.next_row
    stream.answer(({0, 1, 2} - {new.said[row], old.said[row]}).pop())
    stream.cannot_tell()
    stream.answer(old.said[stream.next_row])
    stream.answer(new.said[stream.next_row])
    assert stream.gains == [0, -1, -1, 1]
    entry = stream.certificate.entries[0]
    assert (entry.n, entry.won, entry.lost) == (4, 1, 2)
    assert "1 row could not be labelled and count as lost." in stream.certificate.sentence
    np.testing.assert_allclose(stream.evidence[-1], np.exp(log_evidence(1, 2, 1)))


def test_with_a_tolerance_the_share_of_differing_rows_is_bounded():
    y, new, old = rivals(differing=10)
    assert certify_stream(new, old, ROWS, Claims(tolerance=0.05)).certified  # they differ too seldom to lose so much
    y, new, old = rivals(differing=200)
    stream = certify_stream(new, old, ROWS, Claims(tolerance=0.05))
    assert not stream.certified
    loose = len(answered(stream, y).labels)
    assert stream.certified
    assert loose < len(answered(certify_stream(new, old, ROWS), y).labels)
    assert stream.certificate.entries[0].lower_bound >= -0.05


def test_false_certificates_with_a_tolerance():
    """Worse by just the tolerance: the share of differing rows is another each time."""
    rng, false, draws, tolerance = np.random.default_rng(0), 0, 400, 0.05
    for _ in range(draws):
        differ = rng.random(300) < 0.2
        won = rng.random(300) < (1 - tolerance / 0.2) / 2
        new, old = Says(np.where(differ & ~won, 1, 0)), Says(np.where(differ & won, 1, 0))
        stream = certify_stream(new, old, np.arange(300), Claims(tolerance=tolerance))
        for _ in stream.order:
            stream.answer(0)
        false += stream.certified  # the largest evidence counts, whenever it was
    assert false / draws <= 0.05


def test_groups_and_classes_have_a_claim_each():
    y, new, old = rivals(differing=400, classes=3)
    group = np.where(ROWS % 4 == 0, "few", "many")
    stream = answered(certify_stream(new, old, ROWS, Claims(per_class=True), groups=group), y)
    names = [entry.name for entry in stream.certificate.entries]
    assert names == [
        "all rows",
        "group few",
        "group many",
        *(f"class {c}, where the models differ" for c in range(3)),
    ]
    every, few, many, *classes = stream.certificate.entries
    assert few.n + many.n == every.n == sum(each.n for each in classes)
    assert stream.certified
    assert "passed all 6 comparisons" in stream.certificate.sentence


def test_a_row_that_nobody_can_tell_may_be_of_any_class():
    _, new, old = rivals(classes=3)
    stream = certify_stream(new, old, ROWS, Claims(per_class=True))
    stream.cannot_tell()
    assert [entry.lost for entry in stream.certificate.entries] == [1, 1, 1, 1]


def test_a_ledger_knows_of_the_pool_and_of_the_outcome():
    y, new, old = rivals()
    ledger = Ledger(ROWS[:3])
    pool = np.concatenate([ROWS, ROWS[500:510]])
    stream = certify_stream(*(Says(each.said[pool % N]) for each in (new, old)), pool, ledger=ledger)
    assert ledger.outcomes == [False]
    ledger.write(NO_ROWS, Trial(0.05, 0.008, certified=False, rows=0))  # another test, while this one goes on
    answered(stream, y)
    assert ledger.outcomes == [True, False]
    assert stream.certificate.pool.rows == 1010
    assert [part.sum() for part in stream.parts.values()] == [1010, 997]
    assert stream.claims.delta == 0.04
    said = stream.certificate.sentence
    assert "13 rows repeat others or used ones: each claim was tested with them and without them. This is te" in said
    with pytest.raises(ValueError, match="were tested before"):
        certify_stream(new, old, ROWS[100:], ledger=ledger)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        (Claims(measures="brier"), "measures: where two models say the same, only the error is surely the same"),
        (Claims(measures="squared_error", clip=1.0), "measures: squared_error is about numbers"),
        (Claims(size=50), "claims: size has no use for a pool without labels"),
        (Claims(priors={0: 0.5, 1: 0.5}), "claims: priors has no use for a pool without labels"),
        (Claims(per_group=True), "claims: per_group=True needs the group of every row"),
        (Claims(per_class=True, tolerance=0.1), "claims: per_class with a tolerance needs the class of rows"),
    ],
)
def test_claims_that_disagreements_cannot_show_are_refused(claims, words):
    _, new, old = rivals()
    with pytest.raises(ValueError, match=words):
        certify_stream(new, old, ROWS, claims)


def test_numbers_and_other_labels_are_refused():
    _, new, old = rivals()
    with pytest.raises(ValueError, match="new, old: numbers nearly always differ"):
        certify_stream(PGSRegressor(), PGSRegressor(), ROWS)
    with pytest.raises(ValueError, match="y: holds numbers, and the new model says text"):
        certify_stream(Says(new.said.astype(str)), old, ROWS)
    stream = certify_stream(new, old, ROWS)
    with pytest.raises(ValueError, match="label: '1' is of another kind than what the models say, which is numbers"):
        stream.answer("1")
    for nothing in (None, np.nan, -1):
        with pytest.raises(ValueError, match="says that there is none; if nobody can tell, say so: cannot_tell"):
            stream.answer(nothing)
    assert stream.labels == []
    with pytest.raises(ValueError, match="measures: where two models say the same, only the error is surely"):
        certify_stream(new, old, ROWS, Claims(measures=BoundedLoss("error", lambda y, said: 5.0 * (y != said), 5.0)))


def test_when_all_differing_rows_have_a_label_it_ends():
    y, new, old = rivals(differing=2)
    stream = answered(certify_stream(new, old, ROWS), y)
    assert stream.next_row is None
    assert not stream.certified
    for act in (lambda: stream.answer(0), stream.cannot_tell):
        with pytest.raises(ValueError, match="every differing row has one already; a larger pool has more"):
            act()
