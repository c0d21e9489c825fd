"""Who takes part, in which settings and under which name."""

from sklearn.linear_model import LogisticRegression

from safegain import Forest, Linear, Several, Wrapped
from safegain.search.candidates import CORRECTED, Candidate, candidates, learner_name


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


def test_names_say_what_was_set():
    assert learner_name(Forest()) == "Forest()"
    assert learner_name(Forest(min_samples_leaf=3, random_splits=False)) == (
        "Forest(min_samples_leaf=3, random_splits=False)"
    )
    assert learner_name(Wrapped(LogisticRegression())) == "Wrapped(estimator=LogisticRegression)"
    assert Candidate(Linear(), "raw").name == "Linear() on raw"
