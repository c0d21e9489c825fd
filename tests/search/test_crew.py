"""Who works on the default road, in what order, and how a killed run goes on."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import safegain.search.crew
import safegain.search.curve_road
import safegain.search.heads
from safegain import Linear, Network, PGSClassifier, PGSRegressor, Recipe, Wrapped
from safegain.data.any_rows import AnyRows
from safegain.data.checkpoint import CheckpointError
from safegain.search.crew import Crew
from safegain.search.estimator_trainer import EstimatorTrainer
from safegain.search.heads import ClassHead, NumberHead, numbers
from safegain.search.trainers import RecipeTrainer, SolverTrainer
from tests.search.samples import digits, made_up, of_classes, of_numbers


def class_problem(learner, X=None, **settings):
    rows, noisy, _, trusted = digits(k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    return of_classes(rows if X is None else X(rows), noisy, trusted, held, learner=learner, **settings)


@pytest.mark.parametrize(
    ("learner", "kind", "n_hidden"),
    [
        (Network(), RecipeTrainer, 256),
        (Network(n_hidden=7, recipe=Recipe(n_steps=3)), RecipeTrainer, 7),
        (Network(solver="gd"), SolverTrainer, 100),
        (Linear(), SolverTrainer, None),
    ],
)
def test_the_trainer_of_a_model(learner, kind, n_hidden):
    problem = class_problem(learner)
    crew = Crew.of(problem)
    assert type(crew.trainer) is kind
    if n_hidden is not None:
        assert crew.trainer.model.h == n_hidden
    if kind is RecipeTrainer:
        assert crew.trainer.recipe == (learner.recipe or Recipe())
    X, noisy, _, trusted = digits(k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    order = np.concatenate([np.flatnonzero(part) for part in (~trusted, trusted & ~held, held)])
    np.testing.assert_array_equal(crew.evidence_rows, X[order])
    np.testing.assert_array_equal(crew.y, noisy[order])
    assert isinstance(crew.head(problem, 0.5), ClassHead)
    assert crew.stages.total == 3 + 3 + 2


def test_an_estimator_sees_the_rows_in_the_users_order():
    problem = class_problem(Wrapped(make_pipeline(StandardScaler(), LogisticRegression())), AnyRows.of)
    crew = Crew.of(problem)
    X, noisy, _, trusted = digits(k=3)
    assert isinstance(crew.trainer, EstimatorTrainer)
    assert crew.trainer.X.taken() is crew.trainer.X.whole  # nothing is copied
    np.testing.assert_array_equal(crew.y, noisy)
    np.testing.assert_array_equal(crew.trainer.labels, noisy)
    np.testing.assert_array_equal(numbers(crew.rows.trusted), np.flatnonzero(trusted))
    weak = X[~trusted]  # the pipeline's transformers make the rows of the evidence
    scale = np.where(weak.std(axis=0) > 0, weak.std(axis=0), 1)
    np.testing.assert_allclose(crew.evidence_rows, (X - weak.mean(axis=0)) / scale)
    assert isinstance(crew.head(problem, 0.5), ClassHead)


def test_an_estimator_of_numbers():
    X, y, _, _ = made_up(n=60, n_trusted=40)
    problem = of_numbers(AnyRows.of(X[:100]), y[:100], 60, 40, learner=Wrapped(Ridge()), n_held=20, reference="raw")
    crew = Crew.of(problem)
    head = crew.head(problem, 0.3)
    assert isinstance(head, NumberHead)
    assert (head.reference, head.held_out) == ("raw", 0.3)
    np.testing.assert_array_equal(head.given, y[:100])
    assert crew.stages.total == 1 + 2 + 2


STAGES = {
    "network": ["raw", "raw+trusted", "trusted", "kernel", "evidence", "refit", "last-evidence", "last-refit"],
    "estimator": ["raw", "kernel", "evidence", "refit", "last-evidence", "last-refit"],
    "numbers": ["raw", "raw+trusted", "trusted", "evidence", "refit", "last-evidence", "last-refit"],
}


def classes_fit(model, **settings):
    X, noisy, _, trusted = digits()
    return PGSClassifier(model, random_state=0, **settings).fit(X, noisy, trusted=trusted)


def numbers_fit(model, **settings):
    X, y, _, _ = made_up()
    return PGSRegressor(model, random_state=0, **settings).fit(X[:360], y[:360], trusted=np.arange(360) >= 300)


FITS = {
    "estimator": lambda **settings: classes_fit(ExtraTreesClassifier(20), reference="raw", **settings),
    "numbers": lambda **settings: numbers_fit(DecisionTreeRegressor(min_samples_leaf=5), **settings),
}


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


@pytest.mark.parametrize("case", STAGES)
def test_every_stage_is_told_before_it_begins(case, monkeypatch):
    seen, names = watched(monkeypatch), STAGES[case]
    fit = FITS.get(case, lambda **settings: classes_fit(Network(16, Recipe(n_steps=100)), **settings))
    fitted = fit(verbose=1)
    assert not fitted.safeness_.fell_back
    assert seen == [(name, done, len(names)) for done, name in enumerate(names)]
    seen.clear()
    fit()
    assert seen == []


class Killed(BaseException):
    """The process, for all that the code can tell."""


def assert_same(found, expected):
    Z = digits()[0] if hasattr(expected, "label_distribution_") else made_up()[0][:400]
    for model, other in zip(
        (found.model_, *found.references_.values()), (expected.model_, *expected.references_.values()), strict=True
    ):
        np.testing.assert_array_equal(model.predict(Z), other.predict(Z))
    for name in ("sample_weight_", "label_distribution_", "label_shift_", "corrected_labels_", "held_out_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    pd.testing.assert_frame_equal(found.comparison_, expected.comparison_, check_exact=True)
    assert found.safeness_ == expected.safeness_
    assert found.reference_ == expected.reference_


@pytest.mark.parametrize("case", FITS)
@pytest.mark.parametrize("last", ["evidence", "refit", "last-evidence", "last-refit"])
def test_an_estimators_run_that_is_killed_goes_on_to_the_same_result(case, last, tmp_path, monkeypatch):
    """Killed when a stage begins; what was found of the labels is not sought again."""
    expected, folder, seen = FITS[case](), tmp_path / "run", []

    def killed_at(name, done, total):
        seen.append(name)
        if name == last:
            raise Killed

    class Bar(safegain.estimators.progress.ProgressBar):
        def watch(self, *told):
            killed_at(*told)

    with monkeypatch.context() as patch:
        patch.setattr(safegain.estimators.base, "ProgressBar", Bar)
        with pytest.raises(Killed):
            FITS[case](checkpoint=folder, verbose=1)
    assert seen[-1] == last
    before = [name for name in ("kernel", "evidence", "last-evidence") if name in seen[:-1]]
    assert sorted(file.name for file in folder.glob("stage-*")) == [f"stage-{n}.safetensors" for n in sorted(before)]
    heads, road, calls = safegain.search.heads, safegain.search.curve_road, []
    for module, name in ((heads, "choose_basis"), (heads, "find_evidence"), (road, "curve_road")):
        plain = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, plain=plain, name=name: calls.append(name) or plain(*a))
    found = FITS[case](checkpoint=folder)
    all_calls = ["choose_basis", "find_evidence", "find_evidence"] if case == "estimator" else ["curve_road"] * 2
    assert calls == all_calls[len(before) :]
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


def test_another_estimator_is_another_run(tmp_path, monkeypatch):
    def killed(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(safegain.search.heads, "find_evidence", killed)
        with pytest.raises(Killed):
            classes_fit(ExtraTreesClassifier(20), checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="belongs to a run with other model__estimator"):
        classes_fit(ExtraTreesClassifier(21), checkpoint=tmp_path)


def test_rows_that_are_many_are_not_copied(monkeypatch):
    monkeypatch.setattr(safegain.learners.kernel, "MOST_KEPT", 100)
    told = []
    monkeypatch.setattr(
        safegain.search.crew, "join_rows", lambda parts, *, streamed: told.append(streamed) or np.concatenate(parts)
    )
    for learner in (Network(), Linear(), Network(solver="gd")):
        Crew.of(class_problem(learner))
    assert told == [True, True, False]  # a solver of a network reads all rows at every step
