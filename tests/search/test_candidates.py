"""Who takes part, in which settings and under which name."""

from sklearn.linear_model import LogisticRegression

from safegain import Boosting, Forest, Huber, KernelMachine, Linear, Network, Reshaped, Several, Wrapped
from safegain.search.candidates import CORRECTED, Candidate, affordable, candidates, learner_name, that_scale


def test_every_learner_on_every_kind_of_labels():
    found = candidates(Several([Linear(alpha=1), Forest(min_samples_leaf=2)]), ("raw", "trusted"), 10, classifies=True)
    assert found == [
        Candidate(learner, labels)
        for labels in ("raw", "trusted", CORRECTED)
        for learner in (Linear(alpha=1), Forest(min_samples_leaf=2))
    ]
    assert [each.is_reference for each in found] == [True] * 4 + [False] * 2


def test_settings_that_stand_the_labels():
    found = {kind: Forest().variants(kind, 10, classifies=True) for kind in ("raw+trusted", "trusted", CORRECTED)}
    leaves = {labels: [each.min_samples_leaf for each in variants] for labels, variants in found.items()}
    assert leaves == {"raw+trusted": [5, 10], "trusted": [1, 3], CORRECTED: [1, 3]}
    assert all([each.random_splits for each in variants] == [True, False] for variants in found.values())


def test_penalties_and_trees_that_stand_the_labels():
    def variants(learner, labels, n=10, *, classifies=True):
        return learner.variants(labels, n, classifies=classifies)

    kinds = ("raw", "trusted", CORRECTED)
    penalties = {labels: [each.alpha for each in variants(Linear(), labels)] for labels in kinds}
    assert penalties == {"raw": [1e-3, 1e-1], "trusted": [1e-2, 1e-1], CORRECTED: [1e-3]}
    assert variants(Linear(alpha=0.0), "raw") == (Linear(alpha=0.0),)
    small, large = (variants(Boosting(), "raw", n) for n in (20_000, 20_001))
    assert small == (Boosting(min_samples_leaf=100, max_leaf_nodes=8),)
    assert large == (Boosting(min_samples_leaf=100),)
    for same in (variants(Boosting(), "trusted"), variants(Boosting(), CORRECTED)):
        assert same == (Boosting(),)
    assert variants(Boosting(min_samples_leaf=5), "raw") == (Boosting(min_samples_leaf=5),)
    assert variants(Boosting(), "raw", classifies=False) == (Boosting(), Boosting(loss="absolute"))
    assert variants(Boosting(), CORRECTED, classifies=False) == (Boosting(),)


def test_equal_candidates_take_part_once():
    assert candidates(Several([Network(), Network()]), (), 10, classifies=True) == [Candidate(Network(), CORRECTED)]


def every_family(*, classifies=True):
    learners = [Linear(), Forest(), Boosting(), KernelMachine(), Network() if classifies else Huber()]
    return candidates(Several(learners), ("raw+trusted", "trusted"), 5000, classifies=classifies)


def test_what_takes_far_longer_than_the_others_is_not_tried():
    """Boosting grows a tree for each class, over all columns; of few columns or classes it is as quick as others."""
    found = every_family()
    assert affordable(found, 10_000, 16, 26) == found
    left = affordable(found, 8000, 784, 10)
    assert {type(each.learner) for each in left} == {Forest, KernelMachine, Network}
    assert left == [each for each in found if each in left]
    assert affordable(found[:1], 10**9, 784, 10) == found[:1]  # alone, it is as dear as the others


def test_of_many_rows_boosting_is_a_reference_and_a_teacher():
    found = that_scale(every_family(), classifies=True)
    assert {(type(each.learner), each.is_reference) for each in found} == {
        (Boosting, True),
        (Network, True),
        (Network, False),
    }
    forests = candidates(Forest(), ("raw",), 10, classifies=True)
    assert that_scale(forests, classifies=True) == forests  # none that scales: all take part


def test_of_many_numbers_what_boosting_has_corrected_teaches_boosting_too():
    found = that_scale(every_family(classifies=False), classifies=False)
    kinds = {(type(each.learner), each.is_reference) for each in found}
    assert kinds == {(kind, reference) for kind in (Boosting, Huber) for reference in (True, False)}


def test_names_say_what_was_set():
    assert learner_name(Forest()) == "Forest()"
    assert learner_name(Forest(min_samples_leaf=3, random_splits=False)) == (
        "Forest(min_samples_leaf=3, random_splits=False)"
    )
    assert learner_name(Wrapped(LogisticRegression())) == "Wrapped(estimator=LogisticRegression)"
    assert learner_name(Reshaped(Forest(n_trees=3))) == "Reshaped(learner=Forest(n_trees=3))"
    assert Candidate(Linear(), "raw").name == "Linear() on raw"
