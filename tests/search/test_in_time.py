"""A budget of time: with a clock that is turned by hand, what is trained, how long, and on how many rows."""

import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from safegain import Auto, Boosting, Linear, Network, PGSClassifier, PGSRegressor, Recipe, Wrapped
from safegain.learners.recipe import recipe_for
from safegain.search import hurry
from safegain.search.candidates import Candidate
from safegain.search.clock import RESERVE, Clock
from safegain.search.entry import Entry
from safegain.search.hurry import LEAST_ROWS, rows_in_time
from safegain.search.in_time import in_time
from tests.search.samples import made_up, of_classes


@dataclass
class Slow(Clock):
    """Time passes with trainings alone, each `slow` times as long as its learner says."""

    slow: float = 1.0
    now: float = 0.0
    budget: float | None = 100.0
    pace: dict = field(default_factory=dict)

    @property
    def left(self):
        return (1 - RESERVE) * self.budget - self.kept - self.now


def test_a_clock_learns_from_trainings():
    clock, size = Clock(budget=100.0), (1000, 5, 2)
    cost = Boosting().cost(*size)
    assert clock.seconds(Boosting(), size) == cost
    clock.learn(Boosting(), size, 3 * cost)
    assert clock.seconds(Boosting(), size) == pytest.approx(3 * cost)
    assert clock.seconds(Linear(), size) == pytest.approx(3 * Linear().cost(*size))
    assert 80 < clock.left < 90
    assert Clock().left == float("inf")


@pytest.mark.parametrize(("learner", "size"), [(Boosting(), (10**6, 100, 2)), (Network(), (10**6, 100, 2))])
def test_a_learner_in_time_costs_no_more_than_there_is(learner, size):
    usual = learner.cost(*size)
    assert learner.in_time(usual + 1, *size) is learner
    for share in (0.8, 0.5, 0.3):
        short = learner.in_time(share * usual, *size)
        assert type(short) is type(learner)
        assert 0.7 * share * usual < short.cost(*size) <= share * usual
    assert learner.in_time(0.0, *size).cost(*size) < 0.3 * usual  # as short as makes sense


def test_a_shorter_recipe_has_the_same_decay_over_all_its_steps():
    short = Recipe(n_steps=100, weight_decay=2.0).shortened(20)
    assert short == Recipe(n_steps=20, weight_decay=10.0)
    few = Network(recipe=Recipe(n_steps=10_000)).in_time(1.0, 5000, 50, 3)
    assert few.recipe.n_steps < 10_000


def problem(n=6000):
    random = np.random.RandomState(0)
    X, y = random.normal(size=(n, 5)), random.randint(2, size=n)
    rows = np.arange(n)
    return of_classes(X, y, rows < 600, rows < 300, learner=Linear())


@pytest.mark.parametrize(("budget", "rows"), [(1e6, None), (0.01, LEAST_ROWS)])
def test_rows_by_the_budget(monkeypatch, budget, rows):
    monkeypatch.setattr(hurry, "_pilot", lambda *_: None)
    assert rows_in_time(problem(), Slow(budget=budget)) == rows


def test_more_time_is_more_rows(monkeypatch):
    monkeypatch.setattr(hurry, "_pilot", lambda *_: None)
    found = [rows_in_time(problem(60_000), Slow(budget=budget)) for budget in (0.2, 1.0, 1.5, 4.0)]
    assert found == sorted(found)
    assert found[0] == LEAST_ROWS < found[1] < found[2]
    for rows, budget in zip(found[1:3], (1.0, 1.5), strict=True):
        assert 0.25 * 0.9 * budget / 1.2 < Boosting().cost(rows, 5, 2) <= 0.25 * 0.9 * budget


def entered(budget, slow=1.0):
    """Which candidates take part, in what time, and as what learner."""
    asked = problem(60_000)
    from safegain.search.class_task import ClassTask
    from safegain.search.folds import folds_of

    task = replace(ClassTask.of(asked), clock=Slow(budget=budget, slow=slow, pace={Linear: slow}))
    folds = folds_of(task.material.rows, task.material.y, np.random.RandomState(0))
    kinds = [(Boosting(), "raw+trusted"), (Network(), "trusted"), (Network(), "corrected"), (Network(), "raw+trusted")]
    entries = [Entry(Candidate(*each)) for each in kinds]

    def enter(entry):
        size = (int(folds[0].trusted.sum()) if entry.candidate.labels == "trusted" else task.material.size[0]), 5, 2
        entry.seconds = slow * (entry.learner or entry.candidate.learner).cost(*size)
        task.clock.now += entry.seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "learn", lambda *_: None)
        found = in_time(entries, task, folds, enter)
    return found, task.clock


def test_with_enough_time_all_take_part_as_they_are():
    found, _ = entered(1e6)
    assert len(found) == 4
    assert all(entry.learner is None or entry.learner == entry.candidate.learner for entry in found)


@pytest.mark.parametrize("slow", [1.0, 5.0])
def test_with_little_time_a_reference_and_a_new_one_are_short(slow):
    found, clock = entered(2.0 * slow, slow)
    assert {(entry.candidate.labels, entry.candidate.is_reference) for entry in found} >= {
        ("raw+trusted", True),
        ("corrected", False),
    }
    assert clock.left >= -0.01
    new = next(entry for entry in found if not entry.candidate.is_reference)
    assert new.learner.recipe.n_steps < recipe_for(60_000).n_steps


def test_a_fit_in_little_time_hands_over_a_model(monkeypatch):
    X, y, _, (fresh, right) = made_up(8000, 500)
    trusted = np.arange(8500) >= 8000
    for kind, labels in ((PGSRegressor, y[:8500]), (PGSClassifier, (y[:8500] > 1).astype(int))):
        began = time.monotonic()
        fitted = kind(search=Auto(time_budget=1.0), random_state=0).fit(X[:8500], labels, trusted=trusted)
        assert time.monotonic() - began < 60  # a machine may be busy
        assert len(fitted.leaderboard_) >= 2
        said = fitted.predict(fresh)
        truth = right if kind is PGSRegressor else right > 1
        assert np.mean((said - truth) ** 2) < 0.6 * truth.var()
        assert len(fitted.corrected_labels_) == 8500


def test_a_budget_needs_to_be_positive_and_one_process():
    for budget in (0, -1, "long"):
        with pytest.raises(ValueError, match="time_budget must be None or a positive number"):
            Auto(time_budget=budget)
    with pytest.raises(ValueError, match="time_budget: several processes would not stop at the same step"):
        Auto(time_budget=5.0).check_learner(Linear(), classifies=True, n_processes=2)


def test_time_for_the_rows_that_are_read_off_is_kept(monkeypatch):
    from safegain.search.class_task import ClassTask

    monkeypatch.setattr(hurry, "_pilot", lambda *_: None)  # trainings take as many seconds as their learners say
    asked = problem(6000)
    task = ClassTask.of(asked, time_budget=0.5)
    assert task.hurried
    assert task.material.sample is not None
    evidence = replace(_Evidence(), rule=lambda X, y: time.sleep(0.02) or (torch.zeros(len(X), 2).numpy(),))
    task.keep_time(evidence)
    assert 0.02 * 5400 / len(task.material.X) <= task.clock.kept < 1


@dataclass(frozen=True)
class _Evidence:
    rule: object = None


def test_a_reference_that_is_trained_on_trusted_rows_has_its_share_too():
    """Where it is the only one."""
    from safegain.search.class_task import ClassTask
    from safegain.search.folds import folds_of

    task = replace(ClassTask.of(problem()), clock=Slow(budget=1e-6))
    folds = folds_of(task.material.rows, task.material.y, np.random.RandomState(0))
    entries = [Entry(Candidate(Network(), labels)) for labels in ("trusted", "corrected")]
    found = in_time(entries, task, folds, lambda entry: None)
    assert [entry.candidate.labels for entry in found] == ["trusted", "corrected"]


@pytest.mark.parametrize("n_labels", [60, 10])
def test_a_budget_where_only_trusted_rows_have_a_label(n_labels, quick_evidence):
    X, y, _, (fresh, right) = made_up(1500, 100)
    labels = (y[:1600] > 1).astype(int)
    trusted = np.arange(1600) >= 1600 - n_labels
    model = PGSClassifier([Boosting(max_iter=20), "linear"], search=Auto(time_budget=2.0), random_state=0)
    model.fit(X[:1600], np.where(trusted, labels, -1), trusted=trusted)
    assert (model.predict(fresh) == (right > 1)).mean() > 0.6


def test_a_budget_with_an_estimator_of_the_users(quick_evidence):
    """Nobody knows what it costs; it is trained as it is."""
    clock = Clock(budget=10.0)
    clock.learn(Wrapped(LogisticRegression()), (100, 5, 2), 3.0)
    assert clock.seconds(Wrapped(LogisticRegression()), (100, 5, 2)) == 0
    X, y, _, _ = made_up(300, 60)
    model = PGSClassifier(LogisticRegression(), search=Auto(time_budget=5.0), random_state=0)
    model.fit(X[:360], (y[:360] > 1).astype(int), trusted=np.arange(360) >= 300)
    assert len(model.leaderboard_) > 1


def test_time_is_not_spent_on_a_graph_that_nobody_asks(monkeypatch, quick_evidence):
    def refused(*_):
        raise AssertionError("a graph was made")

    X, y, _, _ = made_up(3000, 100)
    labels = (y[:3100] > 1).astype(int)
    labels[:1500] = -1
    monkeypatch.setattr("safegain.search.material.Graphs.of", refused)
    for kind, given in ((PGSClassifier, labels), (PGSRegressor, np.where(labels < 0, np.nan, y[:3100]))):
        model = kind("boosting", search=Auto(time_budget=1.0), random_state=0)
        model.fit(X[:3100], given, trusted=np.arange(3100) >= 3000)
        assert np.isfinite(model.predict(X[:5])).all()


def test_rows_that_take_no_part_cost_no_time(monkeypatch):
    from safegain.search import task as road
    from safegain.search.class_task import ClassTask

    seen = []
    monkeypatch.setattr(road, "MOST_UNLABELLED", 100)
    monkeypatch.setattr(road, "rows_in_time", lambda problem, clock: seen.append(len(problem.parts.weak)))
    asked = problem(2000)
    asked.parts.weak.y[:] = -1
    ClassTask.of(asked, time_budget=5.0)
    assert seen == [100]
