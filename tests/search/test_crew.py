"""Who works on the road for numbers, in what order, and how a killed run goes on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import safegain.search.curve_road
import safegain.search.refit_road
from safegain import Forest, PGSRegressor, Wrapped
from safegain.data.any_rows import AnyRows
from safegain.search.arrangement import numbers
from safegain.search.crew import Crew
from safegain.search.trainers import EstimatorTrainer, FamilyTrainer
from tests.search.samples import made_up, of_numbers

STAGES = ["raw", "raw+trusted", "trusted", "evidence", "refit", "last-evidence", "last-refit"]


def test_an_estimator_of_numbers():
    """It sees the rows in the user's order; a pipeline's transformers make the rows of the evidence."""
    X, y, _, _ = made_up(n=60, n_trusted=40)
    shuffled = np.random.RandomState(0).permutation(100)
    rows = AnyRows(X[:100], shuffled)  # weak rows and trusted rows of the user's lie anywhere
    learner = Wrapped(make_pipeline(StandardScaler(), Ridge()))
    problem = of_numbers(rows, y[shuffled], 60, 40, learner=learner, n_held=20, reference="raw")
    crew = Crew.of(problem)
    assert isinstance(crew.trainer, EstimatorTrainer)
    assert crew.trainer.X.taken() is crew.trainer.X.whole  # nothing is copied
    np.testing.assert_array_equal(crew.trainer.labels, y[:100])
    np.testing.assert_array_equal(numbers(crew.rows.weak), np.sort(shuffled[:60]))
    weak = X[shuffled[:60]]
    np.testing.assert_allclose(crew.evidence_rows, (X[:100] - weak.mean(axis=0)) / weak.std(axis=0))
    head = crew.head(problem, 0.3)
    assert (head.reference, head.held_out) == ("raw", 0.3)
    np.testing.assert_array_equal(head.given, y[:100])
    assert crew.stages.total == 1 + 2 + 2


def test_a_family_of_numbers():
    X, y, _, _ = made_up(n=60, n_trusted=40)
    X[3, 1] = np.nan
    crew = Crew.of(of_numbers(X, y, 60, 40, learner=Forest(n_trees=3), n_held=20))
    assert isinstance(crew.trainer, FamilyTrainer)
    assert np.isnan(crew.trainer.X[3, 1])  # trees take gaps as they are, the evidence does not
    assert np.isfinite(crew.evidence_rows).all()
    assert crew.rivals == ("raw", "raw+trusted", "trusted")
    assert crew.stages.total == len(STAGES)


def fit(**settings):
    X, y, _, _ = made_up()
    tree = DecisionTreeRegressor(min_samples_leaf=5)
    return PGSRegressor(tree, random_state=0, **settings).fit(X[:360], y[:360], trusted=np.arange(360) >= 300)


def watched(monkeypatch):
    seen = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def watch(self, *told):
            seen.append(told)

    monkeypatch.setattr(safegain.estimators.base, "ProgressBar", Bar)
    return seen


def test_every_stage_is_told_before_it_begins(monkeypatch):
    seen = watched(monkeypatch)
    assert not fit(verbose=1).safeness_.fell_back
    assert seen == [(name, done, len(STAGES)) for done, name in enumerate(STAGES)]
    seen.clear()
    fit()
    assert seen == []


class Killed(BaseException):
    """The process, for all that the code can tell."""


def assert_same(found, expected):
    Z = made_up()[0][:400]
    for model, other in zip(
        (found.model_, *found.references_.values()), (expected.model_, *expected.references_.values()), strict=True
    ):
        np.testing.assert_array_equal(model.predict(Z), other.predict(Z))
    for name in ("sample_weight_", "label_shift_", "corrected_labels_", "held_out_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    pd.testing.assert_frame_equal(found.comparison_, expected.comparison_, check_exact=True)
    assert found.safeness_ == expected.safeness_
    assert found.reference_ == expected.reference_


@pytest.mark.parametrize("last", ["evidence", "refit", "last-evidence", "last-refit"])
def test_a_run_that_is_killed_goes_on_to_the_same_result(last, tmp_path, monkeypatch):
    """Killed when a stage begins; what was found of the labels is not sought again."""
    expected, folder, seen = fit(), tmp_path / "run", []

    class Bar(safegain.estimators.progress.ProgressBar):
        def watch(self, name, *_):
            seen.append(name)
            if name == last:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(safegain.estimators.base, "ProgressBar", Bar)
        with pytest.raises(Killed):
            fit(checkpoint=folder, verbose=1)
    assert seen[-1] == last
    before = [name for name in ("evidence", "last-evidence") if name in seen[:-1]]
    assert sorted(file.name for file in folder.glob("stage-*")) == [f"stage-{n}.safetensors" for n in sorted(before)]
    road, calls = safegain.search.curve_road, []
    plain = road.curve_road
    monkeypatch.setattr(road, "curve_road", lambda problem: calls.append(problem) or plain(problem))
    found = fit(checkpoint=folder)
    assert len(calls) == 2 - len(before)
    assert_same(found, expected)
    assert not list(folder.glob("stage-*"))


def test_nothing_to_correct_is_kept_too(tmp_path, monkeypatch):
    """A run of numbers that falls back after its evidence."""
    X, y, _, _ = made_up(wrong=0.0)
    trusted = np.arange(360) >= 300

    def fit(**settings):
        return PGSRegressor(Ridge(), random_state=0, **settings).fit(X[:360], y[:360], trusted=trusted)

    expected, plain = fit(), safegain.search.refit_road._Road.fall_back

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(safegain.search.refit_road._Road, "fall_back", killed)
        with pytest.raises(Killed):
            fit(checkpoint=tmp_path)
    assert (tmp_path / "stage-evidence.safetensors").exists()
    assert safegain.search.refit_road._Road.fall_back is plain
    monkeypatch.setattr(safegain.search.curve_road, "curve_road", killed)  # is not asked again
    found = fit(checkpoint=tmp_path)
    assert "there was nothing to correct that trusted rows would gain from" in found.safeness_.status
    assert_same(found, expected)
