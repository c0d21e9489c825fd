"""Auto: its one setting, and which road it takes."""

import numpy as np
import pytest
from sklearn.base import clone

import safegain.search.contest_road
from safegain import Forest, Linear, Network, PGSClassifier, Several
from safegain.search.auto import Auto
from safegain.search.class_task import ClassTask
from safegain.search.number_task import NumberTask
from tests.search.samples import digits, made_up, of_classes, of_numbers


@pytest.mark.parametrize("held_out", [-0.1, 1.0, 1, "half", None, True])
def test_what_is_no_share(held_out):
    with pytest.raises(ValueError, match="Auto: held_out must be a share of at least 0 and below 1, got"):
        Auto(held_out=held_out)


@pytest.mark.parametrize(
    ("option", "owners"), [("n_outer", "OuterSearch|Free"), ("alpha", "Linear"), ("workspace", "Free")]
)
def test_an_option_of_others_is_refused(option, owners):
    with pytest.raises(TypeError, match=f"Auto takes no option '{option}'; it is an option of .*({owners})"):
        Auto(**{option: 3})


@pytest.mark.parametrize(("held_out", "n"), [(0.5, 80), (0.25, 40), (0.75, 120)])
def test_the_share_that_is_held_out(held_out, n):
    X, noisy, _, trusted = digits(540, k=10)
    assert trusted.sum() == 162
    model = PGSClassifier("linear", search=Auto(held_out=held_out), reference="raw", random_state=0)
    model.fit(X, noisy, trusted=trusted)
    assert model.held_out_.sum() == pytest.approx(n, abs=5)
    assert not (model.held_out_ & ~trusted).any()
    assert set(model.comparison_["row"]) == set(np.flatnonzero(model.held_out_))
    assert f"on {model.held_out_.sum()} trusted rows that the search did not use" in model.safeness_.status


def test_a_share_that_leaves_none():
    X, noisy, _, trusted = digits(540, k=3)
    model = PGSClassifier("linear", search=Auto(held_out=0), random_state=0).fit(X, noisy, trusted=trusted)
    assert model.safeness_.fell_back
    assert "held_out leaves none of 162 trusted rows to compare models on" in model.safeness_.status


def test_settings_are_values_within_scikit_learns_reach():
    model = PGSClassifier(search=Auto(held_out=0.3))
    assert model.get_params()["search__held_out"] == 0.3
    assert clone(model).search == Auto(held_out=0.3)
    assert model.set_params(search__held_out=0.4).search == Auto(0.4)
    assert PGSClassifier().set_params(search__held_out=0.4).search == Auto(0.4)
    with pytest.raises(ValueError, match="held_out must be a share"):
        model.set_params(search__held_out=2)


def test_the_road_that_is_taken(monkeypatch):
    asked = []
    monkeypatch.setattr(safegain.search.contest_road, "contest_road", asked.append)
    X, y, _, _ = made_up(n=40, n_trusted=10)
    for learner in (Linear(), Network(), Forest()):
        Auto(0.3).run(of_numbers(X, y, 40, 10, learner=learner))
    assert [type(task) for task in asked] == [NumberTask] * 3
    asked.clear()
    X, noisy, _, trusted = digits(60, k=2)
    for learner in (Linear(), Forest(), Several([Linear()])):
        for measure in ("log-loss", "balanced"):
            Auto(measure=measure).run(of_classes(X, noisy, trusted, trusted, learner=learner))
    assert [type(task) for task in asked] == [ClassTask] * 6
    assert [task.measure for task in asked] == ["log-loss", "balanced log-loss"] * 3
