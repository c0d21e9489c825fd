"""What the board for numbers consists of: problems, usual models, peers, and Safegain."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.data import checked_numbers, development_numbers, final_numbers
from experiments.methods import (
    cleanlab_numbers,
    cross_validated_numbers,
    paper_numbers,
    ransac,
    safegain_numbers,
    usual_numbers,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict

from safegain.search.outcome import Suggestions
from tests.problems import numpy_state

with_data = pytest.mark.skipif("SAFEGAIN_DATA" not in os.environ, reason="SAFEGAIN_DATA is not set")


@pytest.fixture(scope="module")
def problem():
    """A plane; a fifth of the weak labels are ten times too large, and 60 trusted rows come last."""
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 3))
    true = 10 + X @ [3.0, 1.0, 0.0] + 0.5 * random.normal(size=500)
    trusted, test = (np.arange(500) >= 240) & (np.arange(500) < 300), np.arange(500) >= 300
    y = np.where((random.random(500) < 0.2) & ~trusted, 10 * true, true)
    kept = ~test
    return SimpleNamespace(
        X=X[kept], y=y[kept], true=true[kept], trusted=trusted[kept], X_test=X[test], y_test=true[test]
    )


@pytest.mark.parametrize("family", usual_numbers.FAMILIES)
def test_every_family_is_measured_on_raw_labels_and_on_trusted_rows(problem, family):
    found = usual_numbers.measure(problem, 0, quick=True, family=family)
    assert found["trusted_error"] < 1
    clean = SimpleNamespace(**{**vars(problem), "y": problem.true})
    assert usual_numbers.measure(clean, 0, quick=True, family=family)["raw_error"] < 1.05 * found["raw_error"]


def test_an_error_is_a_share_of_the_variance(problem):
    always = SimpleNamespace(predict=lambda X: np.full(len(X), problem.y_test.mean()))
    assert usual_numbers.error_on_test_rows(always, problem) == pytest.approx(1)


def test_cross_validation_by_scikit_learn(problem):
    found = cross_validated_numbers.measure(problem, 4, quick=True, family="ridge")["trusted_error"]
    X, y = problem.X[problem.trusted], problem.y[problem.trusted]
    model = usual_numbers.ridge(0, 0, 0)
    said = cross_val_predict(model, X, y, cv=KFold(5, shuffle=True, random_state=4))
    assert found == pytest.approx(np.square(said - y).mean() / y.var())


def test_raw_models_are_cross_validated_with_all_weak_rows(problem, monkeypatch):
    sizes = []
    monkeypatch.setitem(usual_numbers.MAKERS, "ridge", lambda seed, trees, n: sizes.append(n) or LinearRegression())
    cross_validated_numbers.measure(problem, 0, quick=True, family="ridge")
    assert sizes == [240 + 48] * 5 + [48] * 5


def test_peers(problem):
    before = numpy_state()
    assert ransac.measure(problem, 0, quick=True)["error"] < 0.2
    raw = usual_numbers.measure(problem, 0, quick=True, family="ridge")["raw_error"]
    of_paper = [paper_numbers.measure(problem, 0, quick=True, search=each)["error"] for each in ("free", "residuals")]
    assert max(of_paper) < raw
    assert of_paper[0] != of_paper[1]
    found = cleanlab_numbers.measure(problem, 0, quick=True, family="boosting")
    assert found["issues"] > 0
    assert found["error"] < usual_numbers.measure(problem, 0, quick=True, family="boosting")["raw_error"]
    assert numpy_state() == before


@pytest.mark.usefixtures("quick_evidence")
def test_the_default_is_measured_with_what_it_suggests(problem):
    found = safegain_numbers.measure(problem, 0, quick=True)
    assert found["error"] < 0.1
    assert found["precision"] > 0.9
    assert found["recall"] > 0.9
    assert json.loads(json.dumps(found)) == found


@pytest.mark.usefixtures("quick_evidence")
def test_one_learner_is_measured_beside_its_own_reference(problem):
    found = safegain_numbers.measure(problem, 0, quick=True, model="linear", reference="raw+trusted")
    assert found["reference"] == "raw+trusted"
    assert {row["learner"].partition("(")[0] for row in found["leaderboard"]} == {"Linear"}


def test_suggestions_by_hand():
    true, given = np.array([0.0, 10, 20, 30, 40, 50]), np.array([0.0, 90, 21, 30, 40, 50])
    said = Suggestions(
        np.array([0.6, 0.9, 0.1, 0.0, np.nan, np.nan]), *(true + by for by in (np.array([1, 1, 0, 0, 0, 0]), -0.5, 2.0))
    )
    model = SimpleNamespace(record_=SimpleNamespace(suggestions=said))
    problem = SimpleNamespace(trusted=np.arange(6) > 3, y=given, true=true)
    assert safegain_numbers.of_suggestions(model, problem) == {
        "found_precision": 1.0,
        "called": 0.5,
        "precision": 0.5,
        "recall": 0.5,
        "large_recall": 1.0,
        "closer": 1.0,
        "covered": 1.0,
    }
    model.record_.suggestions = None
    assert safegain_numbers.of_suggestions(model, problem) == {}


def test_precision_where_large_errors_are_found():
    wrong, large = np.array([0, 1, 1, 0, 1, 1], bool), np.array([0, 0, 1, 0, 0, 1], bool)
    suspicion = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.1])
    assert safegain_numbers.precision_where_found(suspicion, wrong, large) == pytest.approx(4 / 6)
    assert safegain_numbers.precision_where_found(suspicion[::-1], wrong, large) == pytest.approx(3 / 4)
    assert np.isnan(safegain_numbers.precision_where_found(suspicion, wrong, ~wrong & large))


@with_data
@pytest.mark.parametrize("noise", ["normal", "heavy", "one-sided", "units", "swaps", "none"])
def test_problems(noise):
    setting = {"set": "concrete", "noise": noise, "n_trusted": 30}
    setting |= {} if noise == "none" else {"rate": 0.2}
    setting |= {"sigma": 1.0} if noise == "normal" else {}
    made, again = (development_numbers.problem(setting, 3, quick=True) for _ in range(2))
    np.testing.assert_array_equal(made.y, again.y)
    assert made.trusted.sum() == 30
    np.testing.assert_array_equal(made.y[made.trusted], made.true[made.trusted])
    weak = ~made.trusted
    np.testing.assert_array_equal(made.y[weak], made.given[weak])
    none = development_numbers.problem({"set": "concrete", "noise": "none", "n_trusted": 30}, 3, quick=True)
    np.testing.assert_array_equal(none.true, made.true)  # the same rows, whatever the errors
    assert (made.given != made.true).mean() == pytest.approx(0.0 if noise == "none" else 0.2, abs=0.01)
    assert not np.array_equal(development_numbers.problem(setting, 4, quick=True).y, made.y)


@with_data
def test_sets_are_kept_apart():
    setting = {"set": "concrete", "noise": "none", "n_trusted": 30}
    with pytest.raises(ValueError, match="'concrete' is no final set; choose from diamonds"):
        final_numbers.problem(setting, 0)
    with pytest.raises(ValueError, match="'wages' is no development set"):
        development_numbers.problem(setting | {"set": "wages"}, 0)
    assert checked_numbers.problem(setting, 0, quick=True).X.shape[1] == 8
