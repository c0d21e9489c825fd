"""Who takes part, in which settings and under which name."""

from sklearn.linear_model import LogisticRegression

from safegain import Boosting, Forest, KernelMachine, Linear, Network, Several, Wrapped
from safegain.search.candidates import CORRECTED, Candidate, affordable, candidates, learner_name, that_scale


def test_every_learner_on_every_kind_of_labels():
    found = candidates(Several([Linear(alpha=1), Forest(min_samples_leaf=2)]), ("raw", "trusted"), 10)
    assert found == [
        Candidate(learner, labels)
        for labels in ("raw", "trusted", CORRECTED)
        for learner in (Linear(alpha=1), Forest(min_samples_leaf=2))
    ]
    assert [each.is_reference for each in found] == [True] * 4 + [False] * 2


def test_settings_that_stand_the_labels():
    found = {labels: Forest().variants(labels, 10) for labels in ("raw+trusted", "trusted", CORRECTED)}
    leaves = {labels: [each.min_samples_leaf for each in variants] for labels, variants in found.items()}
    assert leaves == {"raw+trusted": [5, 10], "trusted": [1, 3], CORRECTED: [1, 3]}
    assert all([each.random_splits for each in variants] == [True, False] for variants in found.values())


def test_penalties_and_trees_that_stand_the_labels():
    penalties = {
        labels: [each.alpha for each in Linear().variants(labels, 10)] for labels in ("raw", "trusted", CORRECTED)
    }
    assert penalties == {"raw": [1e-3, 1e-1], "trusted": [1e-2, 1e-1], CORRECTED: [1e-3]}
    assert Linear(alpha=0.0).variants("raw", 10) == (Linear(alpha=0.0),)
    small, large = (Boosting().variants("raw", n) for n in (20_000, 20_001))
    assert small == (Boosting(min_samples_leaf=100, max_leaf_nodes=8),)
    assert large == (Boosting(min_samples_leaf=100),)
    for same in (Boosting().variants("trusted", 10), Boosting().variants(CORRECTED, 10)):
        assert same == (Boosting(),)
    assert Boosting(min_samples_leaf=5).variants("raw", 10) == (Boosting(min_samples_leaf=5),)


def test_equal_candidates_take_part_once():
    assert candidates(Several([Network(), Network()]), (), 10) == [Candidate(Network(), CORRECTED)]


def every_family():
    learners = [Linear(), Forest(), Boosting(), KernelMachine(), Network()]
    return candidates(Several(learners), ("raw+trusted", "trusted"), 5000)


def test_what_takes_far_longer_than_the_others_is_not_tried():
    """Boosting grows a tree for each class, over all columns; of few columns or classes it is as quick as others."""
    found = every_family()
    assert affordable(found, 10_000, 16, 26) == found
    left = affordable(found, 8000, 784, 10)
    assert {type(each.learner) for each in left} == {Forest, KernelMachine, Network}
    assert left == [each for each in found if each in left]
    assert affordable(found[:1], 10**9, 784, 10) == found[:1]  # alone, it is as dear as the others


def test_of_many_rows_boosting_is_a_reference_and_a_teacher():
    found = that_scale(every_family())
    assert {(type(each.learner), each.is_reference) for each in found} == {
        (Boosting, True),
        (Network, True),
        (Network, False),
    }
    forests = candidates(Forest(), ("raw",), 10)
    assert that_scale(forests) == forests  # none that scales: all take part


def test_names_say_what_was_set():
    assert learner_name(Forest()) == "Forest()"
    assert learner_name(Forest(min_samples_leaf=3, random_splits=False)) == (
        "Forest(min_samples_leaf=3, random_splits=False)"
    )
    assert learner_name(Wrapped(LogisticRegression())) == "Wrapped(estimator=LogisticRegression)"
    assert Candidate(Linear(), "raw").name == "Linear() on raw"
