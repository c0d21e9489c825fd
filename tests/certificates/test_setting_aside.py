"""Rows set aside for the certificate of a fit: a random sample, in which nothing repeats a row that is learned from."""

import numpy as np
import pytest

from safegain.certificates.claims import Claims
from safegain.certificates.ledger import Ledger, Trial
from safegain.certificates.setting_aside import drawn_aside
from safegain.data.digest import digests
from safegain.data.labels import classification_labels

N = 200


def table(seed=0):
    """Rows, two classes, and half of the rows trusted."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 3)), rng.integers(0, 2, N), np.arange(N) % 2 == 0


def drawn(X, y, sample, claims=None, groups=None, earlier=None, seed=0):
    claims, earlier = claims or Claims(size=40), earlier or Ledger()
    return drawn_aside(
        claims, digests(X), earlier, sample, classification_labels(y), groups, np.random.RandomState(seed)
    )


def test_a_simple_random_sample_of_the_trusted_rows():
    X, y, sample = table()
    often = np.zeros(N)
    for seed in range(400):
        aside = drawn(X, y, sample, seed=seed)
        assert aside.rows.sum() == aside.tested.sum() == 40
        assert not (aside.rows & ~sample).any()
        often += aside.rows
    # Each of 100 rows as often as any other: 160 times, with a standard deviation of 9.8.
    assert np.abs(often[sample] - 160).max() < 45
    assert often[sample].std() < 14


def test_small_classes_and_groups_give_rows_too():
    """With 'at least one stays' many groups of one row are never tested."""
    X, y, sample = table()
    groups = np.arange(N)  # one row each
    aside = drawn(X, y, sample, groups=groups)
    assert aside.tested.sum() == 40


def test_what_is_drawn_does_not_hang_on_the_values():
    X, y, sample = table()
    other, _, _ = table(seed=1)
    np.testing.assert_array_equal(drawn(X, y, sample).rows, drawn(other, y, sample).rows)


def test_copies_stay_together_and_one_of_them_is_tested():
    X, y, sample = table()
    trusted = np.flatnonzero(sample)
    X[trusted[50:]] = X[trusted[:50]]  # every trusted row is there twice
    aside = drawn(X, y, sample, Claims(size=20))
    first, second = aside.rows[trusted[:50]], aside.rows[trusted[50:]]
    np.testing.assert_array_equal(first, second)
    assert aside.rows.sum() == 40
    assert aside.tested.sum() == 20
    tested = aside.tested[trusted[:50]], aside.tested[trusted[50:]]
    np.testing.assert_array_equal(tested[0] ^ tested[1], first)
    assert tested[0].any()
    assert tested[1].any()


def test_rows_that_repeat_weak_rows_or_tested_ones_are_never_set_aside():
    X, y, sample = table()
    trusted, weak = np.flatnonzero(sample), np.flatnonzero(~sample)
    X[weak[:30]] = X[trusted[:30]]
    earlier = Ledger()
    earlier.write(digests(X[trusted[30:50]]), Trial(0.05, 0.04, certified=False, rows=20))
    aside = drawn(X, y, sample, earlier=earlier)
    assert aside.repeats == 30
    assert not aside.rows[trusted[:50]].any()
    assert aside.rows.sum() == 40
    X[weak[30:77]] = X[trusted[50:97]]
    with pytest.raises(ValueError, match="certificate: only 3 of 100 trusted rows can be set aside"):
        drawn(X, y, sample, earlier=earlier)


@pytest.mark.parametrize("what", ["class", "group"])
def test_a_claim_that_has_no_row_is_an_error_before_anything_is_learned(what):
    X, y, sample = table()
    y[0], groups = 7, np.where(np.arange(N) == 0, 7, 1)
    claims = Claims(size=10, per_class=what == "class", per_group=what == "group")
    with pytest.raises(
        ValueError, match=f"per_{what}=True asks for a claim about {what} .*7.*, and no row of it was set"
    ):
        drawn(X, y, sample, claims, groups=groups, seed=1)


def test_some_must_be_left():
    X, y, sample = table()
    X[sample] = 1.0
    with pytest.raises(ValueError, match="certificate: only 1 of 100 trusted rows can be set aside"):
        drawn(X, y, sample)
    X[sample] = np.repeat(np.arange(1.0, 21), 5)[:, None]
    with pytest.raises(ValueError, match="certificate: all 100 trusted rows would be set aside"):
        drawn(X, y, sample)
    with pytest.raises(ValueError, match="no trusted row is one of a random sample"):
        drawn(X, y, np.zeros(N, dtype=bool))


def test_as_many_rows_as_the_level_of_the_test_takes():
    """A test is made at four fifths of the level: eight rows are enough at .004, and nine at .0032."""
    X, y, sample = table()
    with pytest.raises(
        ValueError, match=r"size=8 sets 8 of 100 trusted rows aside; at level 0\.0032 it takes at least 9"
    ):
        drawn(X, y, sample, Claims(size=8, delta=0.004))
    few = np.zeros(N, bool)
    few[:17] = True
    assert drawn(X, y, few, Claims(delta=0.004)).tested.sum() == 9
