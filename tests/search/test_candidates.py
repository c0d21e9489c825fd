"""Who takes part, in which settings and under which name."""

from sklearn.linear_model import LogisticRegression

from safegain import Boosting, Forest, KernelMachine, Linear, Network, Several, Wrapped
from safegain.search.candidates import CORRECTED, Candidate, affordable, candidates, learner_name, that_scale


def test_every_learner_on_every_kind_of_labels():
    found = candidates([Several([Linear(), Forest(min_samples_leaf=2)])], ("raw", "trusted"))
    assert found == [
        Candidate(learner, labels)
        for labels in ("raw", "trusted", CORRECTED)
        for learner in (Linear(), Forest(min_samples_leaf=2))
    ]
    assert [each.is_reference for each in found] == [True] * 4 + [False] * 2


def test_settings_that_stand_the_labels():
    found = {labels: Forest().variants(labels) for labels in ("raw+trusted", "trusted", CORRECTED)}
    leaves = {labels: [each.min_samples_leaf for each in variants] for labels, variants in found.items()}
    assert leaves == {"raw+trusted": [5, 10], "trusted": [1, 1], CORRECTED: [1, 3]}
    assert all([each.random_splits for each in variants] == [True, False] for variants in found.values())


def test_equal_candidates_take_part_once():
    assert candidates([Several([Linear(), Linear()])], ()) == [Candidate(Linear(), CORRECTED)]


def every_family():
    return candidates(
        [Several([Linear(), Forest(), Boosting(), KernelMachine(), Network()])], ("raw+trusted", "trusted")
    )


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
    forests = candidates([Forest()], ("raw",))
    assert that_scale(forests) == forests  # none that scales: all take part


def test_names_say_what_was_set():
    assert learner_name(Forest()) == "Forest()"
    assert learner_name(Forest(min_samples_leaf=3, random_splits=False)) == (
        "Forest(min_samples_leaf=3, random_splits=False)"
    )
    assert learner_name(Wrapped(LogisticRegression())) == "Wrapped(estimator=LogisticRegression)"
    assert Candidate(Linear(), "raw").name == "Linear() on raw"
