"""Auto: its one setting, and which road it takes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

import safegain.search.curve_road
import safegain.search.refit_road
from safegain import Linear, Network, PGSClassifier, PGSRegressor, Wrapped
from safegain.search.auto import Auto
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


@pytest.mark.parametrize(("held_out", "n"), [(0.5, 48), (0.25, 24), (0.75, 72)])
def test_the_share_that_is_held_out(held_out, n):
    X, noisy, _, trusted = digits(k=3)
    assert trusted.sum() == 96
    model = PGSClassifier("linear", search=Auto(held_out=held_out), random_state=0).fit(X, noisy, trusted=trusted)
    assert model.held_out_.sum() == pytest.approx(n, abs=2)
    assert not (model.held_out_ & ~trusted).any()
    assert len(model.comparison_) == 4 * model.held_out_.sum()
    assert f"on {model.held_out_.sum()} trusted rows that the search did not use" in model.safeness_.status


@pytest.mark.parametrize("held_out", [0.0, 0.9])  # none to compare on, and 10 left to learn from
def test_a_share_that_leaves_too_few(held_out):
    X, noisy, _, trusted = digits(k=3)
    model = PGSClassifier("linear", search=Auto(held_out=held_out), random_state=0).fit(X, noisy, trusted=trusted)
    assert model.safeness_.fell_back
    left = (96, 0) if held_out == 0 else (96 - sum(model.held_out_), sum(model.held_out_))
    words = f"held_out leaves {left[0]} trusted rows to learn from and {left[1]} to compare on, and either takes 20"
    assert words in model.safeness_.status


def test_settings_are_values_within_scikit_learns_reach():
    model = PGSClassifier(search=Auto(held_out=0.3))
    assert model.get_params()["search__held_out"] == 0.3
    assert clone(model).search == Auto(held_out=0.3)
    assert model.set_params(search__held_out=0.4).search == Auto(0.4)
    assert PGSClassifier().set_params(search__held_out=0.4).search == Auto(0.4)
    with pytest.raises(ValueError, match="held_out must be a share"):
        model.set_params(search__held_out=2)


def test_numbers_of_a_differentiable_learner_take_the_curve(monkeypatch):
    asked = []
    monkeypatch.setattr(safegain.search.curve_road, "curve_road", lambda problem: asked.append("curve"))
    monkeypatch.setattr(safegain.search.refit_road, "refit_road", lambda problem, share: asked.append(share))
    X, y, _, _ = made_up(n=40, n_trusted=10)
    for learner in (Linear(), Network(), Wrapped(Ridge())):
        Auto(0.3).run(of_numbers(X, y, 40, 10, learner=learner))
    X, noisy, _, trusted = digits(60, k=2)
    for learner in (Linear(), Wrapped(LogisticRegression())):
        Auto(0.3).run(of_classes(X, noisy, trusted, trusted, learner=learner))
    assert asked == ["curve", "curve", 0.3, 0.3, 0.3]


def test_the_share_also_holds_within_the_head_of_numbers(monkeypatch):
    """A regressor of the user's is corrected by ridge regression, which holds out a share of its own."""
    shares, plain = [], safegain.search.curve_road.curve_road
    monkeypatch.setattr(
        safegain.search.curve_road,
        "curve_road",
        lambda problem: shares.append(problem.parts.n_held_out) or plain(problem),
    )
    X, y, _, _ = made_up(n=200, n_trusted=100)
    X, y, trusted = X[:300], y[:300], np.arange(300) >= 200
    fitted = PGSRegressor(DecisionTreeRegressor(min_samples_leaf=5), search=Auto(held_out=0.3), random_state=0)
    fitted.fit(X, y, trusted=trusted)
    assert fitted.held_out_.sum() == 30
    assert shares == [21, 30]  # of the 70 rows that the search may use, and of all 100
