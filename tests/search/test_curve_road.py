"""The default road for numbers: what the curve finds, what it is compared with, and when it falls back."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

import safegain.evidence.residuals
import safegain.search.curve_road
from safegain import Descent, GradientDescent, Linear, Network, PGSRegressor
from safegain.bilevel.engine_choice import make_engine
from safegain.bilevel.safeness import PerGroup
from safegain.data.rows import Joined
from safegain.data.stages import Stages
from safegain.evidence.residuals import residual_evidence, stack_rows
from safegain.search.curve_road import STARTS, _cross_validated, _standings, curve_road, curve_space
from safegain.search.references import NEW, REFERENCES
from tests.problems import numpy_state
from tests.search.samples import made_up, of_numbers


def error(model, test):
    X, y = test
    return float(np.square(model.predict(X) - y).mean())


def standings(found):
    """Mean losses on the compared rows; "best" is what the reference stands for in the report."""
    return {name: float(loss.mean()) for name, loss in found.comparison.losses.items()}


def test_finds_the_wrong_labels_and_gains():
    X, y, spoilt, test = made_up()
    found = curve_road(of_numbers(X, y, 300, 60))
    assert not found.fell_back
    assert found.best.weight[~spoilt].mean() > 3 * found.best.weight[spoilt].mean()
    errors = {name: error(model, test) for name, model in found.references.items()}
    assert error(found.best.model, test) < min(errors.values())
    assert found.reference_name == min(errors, key=errors.__getitem__) == "trusted"
    assert found.reference.model is found.references["trusted"]
    (compared,) = found.safeness.sets
    assert standings(found)[NEW] == pytest.approx(compared.new_loss)
    assert compared.new_loss < compared.raw_loss
    assert len(found.comparison.rows) == 60
    assert all(record["violation"] < 1e-12 for record in found.history)
    assert {record["fold"] for record in found.history} == set(range(5))
    assert found.n_iter == len(found.history)
    assert found.safeness.status.startswith("Safe: better than the reference, trained on trusted rows, with 0.")
    assert "of its squared error on trusted rows that neither search nor fit had seen" in found.safeness.status


def test_references_are_ridge_regressions_on_their_rows():
    X, y, _, (Z, _) = made_up(d=3)
    found = curve_road(of_numbers(X, y, 300, 60, learner=Linear(alpha=0.2)))
    mean, scale = X[:300].mean(axis=0), X[:300].std(axis=0)
    for name, rows in (("raw", slice(300)), ("raw+trusted", slice(360)), ("trusted", slice(300, 360))):
        penalty = 0.2 / 2 * len(y[rows])  # of the sum over rows, where ours is of the mean
        expected = Ridge(penalty).fit((X[rows] - mean) / scale, y[rows]).predict((Z - mean) / scale)
        np.testing.assert_allclose(found.references[name].predict(Z), expected, atol=1e-9)


def test_falls_back_to_the_reference_itself():
    # Trusted rows of another model than the weak ones: what is learned from weak rows only harms.
    X, y, _, _ = made_up(wrong=0.0)
    y[:300] = np.random.RandomState(1).permutation(y[:300]) + 2
    y[300:360] = X[300:360] @ np.arange(5.0)
    found = curve_road(of_numbers(X, y, 300, 60))
    assert found.fell_back
    assert found.best.model is found.references["trusted"]
    assert found.reference_name == "trusted"
    assert (found.best.moved == 0).all()
    np.testing.assert_array_equal(found.best.base, y[:300])
    assert found.safeness.status.startswith("Fell back: on trusted rows that neither search nor fit had seen the refit")
    assert "so this is the reference, trained on trusted rows." in found.safeness.status
    (compared,) = found.safeness.sets
    assert (compared.new_loss, compared.margin) == (compared.raw_loss, 0.0)
    given = curve_road(of_numbers(X, y, 300, 60, reference="raw"))
    assert given.reference_name == "raw"
    assert not given.fell_back  # better than the raw model, which is what was asked


def test_clean_labels_and_few_trusted_rows_lose_nothing():
    for seed in range(4):
        X, y, _, test = made_up(n_trusted=20, wrong=0.0, seed=seed)
        found = curve_road(of_numbers(X, y, 300, 20))
        assert found.fell_back
        assert found.reference_name in ("raw", "raw+trusted")
        assert "weak labels are not visibly worse than trusted ones" in found.safeness.status
        assert error(found.best.model, test) < 1.01 * error(found.references["raw+trusted"], test)


def test_a_rare_kind_of_row_is_no_wrong_label():
    # One row in thirty is of another kind, which few trusted rows may miss: ignoring it would look good on them.
    X, y, _, (Z, t) = made_up(n_trusted=20, wrong=0.0)
    for rows, labels in ((X[:300], y[:300]), (Z, t)):
        labels[::30] = 25.0
        rows[::30, 0] += 4.0
    found = curve_road(of_numbers(X, y, 300, 20))
    assert standings(found)[NEW] < 0.5 * standings(found)["raw+trusted"]
    assert found.fell_back
    assert found.reference_name in ("raw", "raw+trusted")
    assert error(found.best.model, (Z, t)) < error(found.references["trusted"], (Z, t))


@pytest.mark.parametrize("n_trusted", [2, 3, 5])
def test_a_handful_of_trusted_rows(n_trusted):
    X, y, _, test = made_up(n_trusted=n_trusted)
    found = curve_road(of_numbers(X, y, 300, n_trusted))
    assert np.isfinite(error(found.best.model, test))
    assert len(found.comparison.rows) == n_trusted


@pytest.mark.parametrize("missing", [0.5, 0.97])
def test_rows_without_a_label(missing):
    X, y, _, test = made_up(n=400, missing=missing)
    found = curve_road(of_numbers(X, y, 400, 60))
    bare = np.isnan(y[:400])
    predicted = found.best.model.predict(X[:400][bare])
    assert np.abs(found.best.base.numpy()[bare] - predicted).mean() < 0.3 * predicted.std()
    assert (found.best.moved[torch.from_numpy(bare)] == 0).all()
    np.testing.assert_array_equal(found.best.base[~torch.from_numpy(bare)], y[:400][~bare])
    floor = min(error(model, test) for model in found.references.values())
    assert error(found.best.model, test) < 1.1 * floor


def test_compared_rows_are_not_seen_before():
    X, y, _, _ = made_up()
    problem = of_numbers(X, y, 300, 60)
    setup = problem.learner.setup(problem.parts)
    stack = stack_rows(problem.parts, setup, np.random.RandomState(0), torch.Generator().manual_seed(0))
    engine = make_engine("auto", setup.model, stack.solver)
    fold = torch.arange(60) < 12

    def first_curve(stack):
        stages = Stages(1, np.random.RandomState(0), torch.Generator())
        return _cross_validated(stack, engine, [fold], stages)[1][0]

    def with_labels_of(rows):
        base = stack.base + 9.0 * torch.cat([torch.zeros(300), rows])
        return replace(stack, base=base, lower=replace(stack.lower, base=base))

    assert torch.equal(first_curve(with_labels_of(fold)), first_curve(stack))
    assert not torch.equal(first_curve(with_labels_of(torch.arange(60) == 12)), first_curve(stack))


def test_the_space_of_some_trusted_rows():
    X, y, _, _ = made_up(n=40, n_trusted=12, missing=0.3)
    problem = of_numbers(X, y, 40, 12)
    setup = problem.learner.setup(problem.parts)
    stack = stack_rows(problem.parts, setup, np.random.RandomState(0), torch.Generator())
    evidence = residual_evidence(stack, torch.ones(12, dtype=torch.bool), np.random.RandomState(0))
    whole, part = curve_space(evidence, STARTS[0]), curve_space(evidence, STARTS[0], torch.tensor([7, 2]))
    assert torch.equal(whole.residual, evidence.residual)
    assert torch.equal(part.residual, evidence.residual[[*range(40), 47, 42]])
    assert (whole.eps1, whole.eps2, whole.scale) == (4.0, 40**0.5, evidence.scale)
    assert torch.equal(part.labelled, stack.labelled)


def test_sparse_rows():
    X, y, _, _ = made_up()
    sparse, dense = (
        curve_road(of_numbers(np.where(np.abs(X) > 0.2, X, 0), y, 300, 60, sparse=sparse)) for sparse in (True, False)
    )
    # Dense rows are centred, sparse ones only scaled: the intercept differs.
    np.testing.assert_allclose(dense.best.model.theta[:-1], sparse.best.model.theta[:-1], atol=0.05)
    assert not sparse.fell_back


def test_a_network_is_compared_on_the_held_out_rows():
    X, y, spoilt, test = made_up(n=150, n_trusted=60, d=3)
    learner = Network(n_hidden=10, solver=Descent(n_steps=100))
    found = curve_road(of_numbers(X, y, 150, 60, learner=learner, n_held=20))
    assert found.comparison.rows.tolist() == list(range(40, 60))
    assert error(found.best.model, test) < error(found.references["raw"], test)
    if not found.fell_back:
        assert found.best.weight[~spoilt].mean() > found.best.weight[spoilt].mean()


def test_a_network_without_held_out_rows_is_compared_on_half_of_them():
    X, y, _, _ = made_up(n=60, n_trusted=30, d=3)
    learner = Network(n_hidden=4, solver=Descent(n_steps=20))
    assert len(curve_road(of_numbers(X, y, 60, 30, learner=learner)).comparison.rows) == 15


def test_a_training_that_diverges_is_refused():
    X, y, _, _ = made_up(n=60, n_trusted=30, d=3)
    wild = Network(n_hidden=4, solver=Descent(GradientDescent(1e9), n_steps=40))
    with pytest.raises(ValueError, match=r"solver: training on the raw labels diverged.*lower its learning_rate"):
        curve_road(of_numbers(X, y, 60, 30, learner=wild, n_held=10))


def test_the_same_seed_gives_the_same_model_and_global_state_is_left_alone():
    X, y, _, _ = made_up(n=100, n_trusted=30)
    before, numpy_before = torch.get_rng_state(), numpy_state()
    problems = [of_numbers(X, y, 100, 30, seed=3) for _ in range(2)]
    labels = problems[0].parts.weak.y.clone()
    first, second = map(curve_road, problems)
    assert torch.equal(first.best.model.theta, second.best.model.theta)
    assert torch.equal(first.best.weight, second.best.weight)
    assert standings(first) == standings(second)
    assert torch.equal(before, torch.get_rng_state())
    assert numpy_before == numpy_state()
    assert torch.equal(labels, problems[0].parts.weak.y)


def test_the_best_reference_stands_as_chosen_on_other_folds():
    # By hand: "raw" wins on fold 0 and "trusted" on fold 1, so each fold sees the other one's choice.
    losses = torch.tensor([[0.0, 5.0], [9.0, 9.0], [4.0, 1.0], [2.0, 2.0]], dtype=torch.float64)
    folds = [torch.tensor([True, False]), torch.tensor([False, True])]
    found, best = _standings(losses, folds, 3)
    assert found == {"raw": 2.5, "raw+trusted": 9.0, "trusted": 2.5, NEW: 2.0, "best": 4.5}
    assert best in REFERENCES
    assert _standings(losses, folds, 2) == (found | {"best": 2.5}, "raw")  # without "trusted"


def test_the_comparison_is_a_cross_validation_over_the_trusted_rows(monkeypatch):
    X, y, _, _ = made_up(d=3)
    rows = np.arange(360)
    X, y, trusted = X[:360], 7 * y[:360] + 2, (rows >= 120) & (rows % 4 == 0)  # in units of their own; right labels
    drawn, plain = [], safegain.search.curve_road._comparison_folds
    monkeypatch.setattr(safegain.search.curve_road, "_comparison_folds", lambda *a: drawn.extend(plain(*a)) or drawn)
    fitted = PGSRegressor(Linear(alpha=0.2), search="residuals", random_state=0).fit(X, y, trusted=trusted)
    assert list(fitted.references_) == list(REFERENCES)
    assert fitted.comparison_.columns.tolist() == ["row", "model", "loss"]
    found = fitted.comparison_.pivot(index="row", columns="model", values="loss")
    assert found.index.tolist() == np.flatnonzero(trusted).tolist()
    assert set(found) == {*REFERENCES, NEW}
    # Trusted rows come in the order of the parts: those of the search, then those held out.
    order = np.concatenate([np.flatnonzero(trusted & ~fitted.held_out_), np.flatnonzero(fitted.held_out_)])
    scaled = (X - X[~trusted].mean(axis=0)) / X[~trusted].std(axis=0)
    assert len(drawn) == 5
    for fold in drawn:
        hidden = order[fold.numpy()]
        shown = np.setdiff1d(order, hidden)
        for name, rows in (
            ("raw", np.flatnonzero(~trusted)),
            ("raw+trusted", np.concatenate([np.flatnonzero(~trusted), shown])),
            ("trusted", shown),
        ):
            left_out = Ridge(0.2 / 2 * len(rows)).fit(scaled[rows], y[rows]).predict(scaled[hidden])
            np.testing.assert_allclose(found.loc[hidden, name], (left_out - y[hidden]) ** 2, rtol=1e-6)
    (compared,) = fitted.safeness_.sets
    assert not fitted.safeness_.fell_back
    assert found[NEW].mean() == pytest.approx(compared.new_loss)


def test_ones_own_safeness_can_veto():
    """Weak labels are too large on average, and those of a small trusted group too: it is better off with them."""
    X, y, _, _ = made_up(d=3, biased=10.0)
    X, y, trusted = X[:360], 7 * y[:360], np.arange(360) >= 300
    odd = np.arange(360) % 10 == 0
    groups = np.where(odd, "odd", "even")
    given = np.where(odd & trusted, y + 7 * 4, y)
    free = PGSRegressor(search="residuals", reference="raw", random_state=0).fit(
        X, given, trusted=trusted, groups=groups
    )
    assert not free.safeness_.fell_back
    bound = PGSRegressor(search="residuals", reference="raw", safeness=PerGroup(), random_state=0)
    bound.fit(X, given, trusted=trusted, groups=groups)
    assert bound.model_ is bound.references_["raw"]
    assert bound.safeness_.status == (
        "Fell back: the new model was worse on group odd, so this is the reference, trained on raw rows."
    )
    assert [each.name for each in bound.safeness_.sets] == ["compared trusted rows", "group even", "group odd"]
    assert all(each.margin == 0 for each in bound.safeness_.sets)
    rows = trusted & odd & ~bound.held_out_
    losses = np.square(bound.references_["raw"].predict(X[rows]) - given[rows])
    assert bound.safeness_.sets[2].raw_loss == pytest.approx(losses.mean())


def test_many_rows_are_read_where_they_are(monkeypatch):
    X, y, _, _ = made_up(d=3)
    rows = np.arange(360)
    X, y, trusted = X[:360], y[:360], (rows >= 120) & (rows % 4 == 0)
    whole = PGSRegressor(search="residuals", random_state=0).fit(X, y, trusted=trusted)
    monkeypatch.setattr(safegain.learners.kernel, "MOST_KEPT", 100)
    joined, plain = [], safegain.evidence.residuals.join_rows
    monkeypatch.setattr(
        safegain.evidence.residuals, "join_rows", lambda *a, **k: joined.append(plain(*a, **k)) or joined[-1]
    )
    found = PGSRegressor(search="residuals", random_state=0).fit(X, y, trusted=trusted)
    weak = [each.parts[0] for each in joined if isinstance(each, Joined)]
    assert len(weak) == 1 + 2 * 5  # all rows; and for each fold, with either half of the trusted rows
    assert all(np.shares_memory(each.source.X, X) for each in weak)
    np.testing.assert_allclose(found.model_.theta, whole.model_.theta, rtol=1e-6)
    np.testing.assert_allclose(found.sample_weight_, whole.sample_weight_, rtol=1e-6)
    np.testing.assert_allclose(found.comparison_["loss"], whole.comparison_["loss"], rtol=1e-6)


def sampled(made, sample):
    """The problem with only these of its search rows as a random sample."""
    parts = made.parts
    return replace(made, parts=replace(parts, search=replace(parts.search, sample=torch.from_numpy(sample))))


def test_rows_outside_the_sample_train_and_judge_nothing():
    """Thirty rows that were picked for being far off: as judges they would hide that weak labels are worse."""
    X, y, spoilt, test = made_up(n_trusted=90)
    y[360:390] += np.where(np.arange(30) % 2, 4.0, -4.0)  # they are right, and unlike the others
    sample = np.arange(90) < 60
    found = curve_road(sampled(of_numbers(X, y, 300, 90), sample))
    assert found.comparison.rows.tolist() == list(range(60))
    assert not found.fell_back
    assert found.best.weight[~spoilt].mean() > 3 * found.best.weight[spoilt].mean()
    made = of_numbers(X, y, 300, 90)
    setup = made.learner.setup(made.parts)
    stack = stack_rows(sampled(made, sample).parts, setup, np.random.RandomState(0), torch.Generator())
    assert stack.sample.tolist() == sample.tolist()
    everyone = torch.ones(90, dtype=torch.bool)
    evidence = residual_evidence(stack, everyone, np.random.RandomState(0))
    assert evidence.residual[360:].abs().max() == 0
    own = (stack.base - evidence.predicted)[300:360].double().square().mean().sqrt()
    assert evidence.scale == pytest.approx(float(own))
    for start in STARTS:
        assert curve_space(evidence, start).point((start,)).w[360:] == pytest.approx(1.0, abs=1e-6)
    expected = curve_road(of_numbers(X, y, 300, 90)).references["raw+trusted"].predict(test[0])
    np.testing.assert_allclose(found.references["raw+trusted"].predict(test[0]), expected)  # they are trained on


@pytest.mark.parametrize(("reference", "kept"), [("best", "raw+trusted"), ("raw", "raw")])
def test_a_sample_of_nobody_leaves_a_reference(reference, kept):
    X, y, _, _ = made_up(missing=0.1)
    found = curve_road(sampled(of_numbers(X, y, 300, 60, reference=reference), np.arange(60) < 1))
    assert found.fell_back
    assert found.reference_name == kept
    assert "1 trusted rows of a random sample are too few" in found.safeness.status
    assert torch.isfinite(found.best.base).all()
    assert len(found.comparison.rows) == 0


def test_row_weights_are_how_often_a_row_is_there():
    X, y, _, (Z, _) = made_up(d=3)
    weight = np.random.RandomState(0).randint(1, 4, 360).astype(float)
    made = of_numbers(X, y, 300, 60, learner=Linear(alpha=0.2))
    parts = made.parts
    weak, search = (
        replace(part, weight=torch.from_numpy(each))
        for part, each in ((parts.weak, weight[:300]), (parts.search, weight[300:]))
    )
    found = curve_road(replace(made, parts=replace(parts, weak=weak, search=search)))
    mean, scale = X[:300].mean(axis=0), X[:300].std(axis=0)
    for name, rows in (("raw", slice(300)), ("raw+trusted", slice(360)), ("trusted", slice(300, 360))):
        own = weight[:360][rows]
        ridge = Ridge(0.2 / 2 * own.sum()).fit((X[:360][rows] - mean) / scale, y[:360][rows], sample_weight=own)
        expected = ridge.predict((Z - mean) / scale)
        np.testing.assert_allclose(found.references[name].predict(Z), expected, rtol=1e-5, atol=1e-5)


def test_standings_are_weighted_means():
    losses = torch.tensor([[0.0, 5.0], [9.0, 9.0], [4.0, 1.0], [2.0, 2.0]], dtype=torch.float64)
    folds = [torch.tensor([True, False]), torch.tensor([False, True])]
    found, best = _standings(losses, folds, 3, torch.tensor([3.0, 1.0], dtype=torch.float64))
    assert found["raw"] == pytest.approx(1.25)
    assert (found["trusted"], best) == (pytest.approx(3.25), "raw")
    assert found["best"] == pytest.approx((3 * 4 + 5) / 4)
