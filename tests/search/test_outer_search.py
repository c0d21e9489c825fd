"""Searches with an outer loop: settings that are checked when built, callbacks, the bar, and a run from end to end."""

import numpy as np
import pytest
import torch

from safegain import Cholesky, Descent, Free, GradientDescent, Linear, Network, PGSClassifier, PGSRegressor, Structured
from safegain.learners.trained import trained_model
from safegain.search.outer_search import Budget, OuterSearch, Raw, Start
from tests.search.samples import digits, made_up, of_classes, of_numbers


@pytest.mark.parametrize("kind", [Free, Structured])
@pytest.mark.parametrize(
    ("field", "values", "rule"),
    [
        ("n_outer", (0, 2.5, True, "5"), "be a whole number of at least 1, or None"),
        ("lr_outer", (0, -1.0, "fast"), "be a positive number or None"),
        ("outer_step", ("gd", 3, Cholesky), "be one of adam, scaled, or None"),
        ("engine", ("newton", None, Cholesky), "be an engine or one of auto, "),
        ("penalty", ("none", None), "be 'paper' or 'hinge'"),
        ("penalty_weight", (-1, None), "be a number of at least 0"),
        ("eps1", (-1, "all"), "be a number of at least 0, or None"),
        ("eps2", (-0.1, True), "be a number of at least 0, or None"),
        ("held_out", (1, -0.1, None), "be a share of at least 0 and below 1"),
        ("callbacks", (print, [3], None), "be functions"),
    ],
)
def test_settings_are_checked_when_built(kind, field, values, rule):
    for value in values:
        with pytest.raises(ValueError, match=f"{kind.__name__}: {field} must {rule}"):
            kind(**{field: value})
    default = getattr(kind(), field)
    assert getattr(kind(**{field: default}), field) == default


def test_settings_are_values():
    search = Free(n_outer=3)
    assert search == Free(n_outer=3) != Free(n_outer=4)
    assert search.with_params(lr_outer=0.1) == Free(n_outer=3, lr_outer=0.1)
    with pytest.raises(AttributeError):
        search.n_outer = 5
    assert Free(engine=Cholesky(), callbacks=[print]).callbacks == [print]


@pytest.mark.parametrize(
    ("settings", "classifies", "message"),
    [
        (Free(eps2=1.5), True, "eps2: is a mean probability of classes, at most 1, got 1.5"),
        (Structured(eps2=2), True, "eps2: is a mean probability of classes, at most 1, got 2"),
    ],
)
def test_a_budget_of_classes_is_a_probability(settings, classifies, message):
    with pytest.raises(ValueError, match=message):
        settings.check_learner(Linear(), classifies=classifies, n_processes=1)
    Free(eps2=1.5).check_learner(Linear(), classifies=False, n_processes=1)  # a length, for numbers


def test_the_least_weight_is_at_most_that_of_all_rows():
    X, y, _, _ = made_up(n=30, n_trusted=20)
    parts = of_numbers(X, y, 30, 20).parts
    assert Free(eps1=30)._budget(parts).eps1 == 30
    with pytest.raises(ValueError, match=r"eps1: the weights of 30 weak rows cannot sum to 30\.5; give at most 30"):
        Free(eps1=30.5)._budget(parts)
    X, noisy, _, trusted = digits(60, k=2)
    with pytest.raises(ValueError, match=rf"eps1: the weights of {(~trusted).sum()} weak rows cannot sum to 500"):
        PGSClassifier("linear", search=Free(eps1=500)).fit(X, noisy, trusted=trusted)


def test_budgets_in_the_searchs_own_units():
    X, y, _, _ = made_up(n=50, n_trusted=30)
    numbers = of_numbers(X, y, 50, 30).parts
    assert Free()._budget(numbers) == Budget(5.0, 50**0.5)
    assert Free(eps1=7, eps2=3.0)._budget(numbers) == Budget(7, 3.0 / numbers.unit)
    X, noisy, _, trusted = digits(60, k=2)
    classes = of_classes(X, noisy, trusted, trusted, learner=Linear()).parts
    n = (~trusted).sum()
    assert Free()._budget(classes) == Budget(0.1 * n, 1.0)
    assert Free(eps1=7, eps2=0.2)._budget(classes) == Budget(7, 0.2)


def fit(search, **settings):
    X, noisy, _, trusted = digits(200, k=3)
    model = PGSClassifier("linear", search=search, reference="raw", random_state=0, **settings)
    return model.fit(X, noisy, trusted=trusted)


@pytest.mark.parametrize("kind", [Free, Structured])
def test_callbacks_see_every_step_and_one_that_says_so_ends_the_search(kind):
    seen, others = [], []

    def watch(record, candidate):
        seen.append((record["step"], candidate.step))
        return len(seen) == 3

    fitted = fit(kind(n_outer=6, callbacks=(watch, lambda record, _: others.append(record["step"]))))
    assert seen == [(0, 0), (1, 1), (2, 2)]
    assert others == [0, 1, 2]  # every callback sees the last one
    assert fitted.n_iter_ == 2
    assert len(fitted.history_) == 3
    assert "stopped at outer step 2: a callback asked for it." in fitted.safeness_.status
    fitted = fit(kind(n_outer=2))
    assert (fitted.n_iter_, len(fitted.history_)) == (2, 3)
    assert "the search ran all 2 outer steps." in fitted.safeness_.status.replace("The search", "the search")


def test_the_watch_is_told_every_step_after_the_callbacks():
    told = []
    search = Free(n_outer=2, callbacks=(lambda record, _: told.append(record["step"]),))
    X, noisy, _, trusted = digits(200, k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    problem = of_classes(
        X, noisy, trusted, held, learner=Linear(), reference="raw", watch=lambda *told_: told.append(told_)
    )
    found = search.run(problem)
    assert [each for each in told if isinstance(each, int)] == [0, 1, 2]
    assert [(done, total) for _, done, total in told[1::2]] == [(0, 2), (1, 2), (2, 2)]
    for (note, *_), record in zip(told[1::2], found.history, strict=True):
        assert note == f"loss {record['rank_loss']:.4f}{'' if record['safe'] else ', not safe'}"


@pytest.mark.parametrize("labelled", [True, False])
def test_where_a_search_leaves_from(labelled):
    """With a label in every row, from the raw model's own point; otherwise raw rows without one have no weight."""
    X, noisy, _, trusted = digits(200, k=3)
    given = noisy if labelled else np.where(~trusted & (np.arange(len(noisy)) % 2 == 0), -1, noisy)
    problem = of_classes(X, given, trusted, np.zeros_like(trusted), learner=Linear(alpha=0.1))
    setup = problem.learner.setup(problem.parts)
    start = Free()._start(problem, setup, setup.model.init(torch.Generator()), Budget(1.0, 1.0))
    assert isinstance(start, Start)
    assert start.at_raw == labelled
    weak = given[~trusted]
    np.testing.assert_array_equal(start.raw_point.w, weak >= 0)
    shown = weak >= 0
    np.testing.assert_array_equal(start.raw_point.Q[shown], np.eye(3)[weak[shown]])
    if not labelled:
        predicted = trained_model(setup, start.raw.theta, problem.parts).predict_proba(X[~trusted][~shown])
        np.testing.assert_allclose(start.raw_point.Q[~shown], predicted, atol=1e-9)
    assert issubclass(Free, OuterSearch)
    assert Raw(start.lower, setup, start.raw, start.raw_point, labelled).outputs.shape == (len(weak), 3)


def test_a_training_that_diverges_is_refused():
    X, y, _, _ = made_up(n=60, n_trusted=30, d=3)
    learner = Network(n_hidden=4, solver=Descent(GradientDescent(1e9), n_steps=40))
    with pytest.raises(ValueError, match=r"solver: training on the raw labels diverged, .*lower its learning_rate"):
        PGSRegressor(learner, search="free").fit(X[:90], y[:90], trusted=np.arange(90) >= 60)
