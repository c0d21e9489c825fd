import numpy as np

from safegain.runs.doubt import suspicion_of_numbers
from safegain.runs.folder import DOUBTFUL


def test_doubtful_numbers_are_wrong_as_often_as_it_is_said():
    """Of the rows above one half most are wrong; where labels are right, hardly any row is doubted."""
    random = np.random.default_rng(0)
    listed, wrong, false = 0, 0, 0
    for _ in range(40):
        bad = random.random(1000) < 0.3
        right = np.abs(random.normal(size=1000))
        off = np.where(bad, np.abs(random.normal(size=1000) * 4), right)
        doubted = suspicion_of_numbers(np.abs(random.normal(size=150)), off) > DOUBTFUL
        listed, wrong = listed + doubted.sum(), wrong + (bad & doubted).sum()
        false += (suspicion_of_numbers(np.abs(random.normal(size=150)), right) > DOUBTFUL).sum()
    assert wrong / listed > 0.85
    assert listed / 40 > 120  # of 300, half of which lie where right ones do
    assert false / 40_000 < 0.01


def test_doubt_grows_with_the_distance_and_needs_rows_to_compare_with():
    off = np.array([3.0, 0.1, 9.0, 0.2, 50.0])
    found = suspicion_of_numbers(np.full(200, 0.15), np.tile(off, 50))[:5]
    assert found[np.argsort(off)].tolist() == sorted(found)
    assert found[4] > 0.9
    assert suspicion_of_numbers(np.empty(0), off).tolist() == [0] * 5
    assert len(suspicion_of_numbers(off, np.empty(0))) == 0
