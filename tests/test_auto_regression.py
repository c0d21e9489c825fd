"""The curve of the residual: its points, its gradients, and what is made of it."""

from dataclasses import fields, replace

import numpy as np
import pytest
import safegain.search.auto_numbers
import safegain.search.training
import scipy.sparse
import torch
from safegain.learners.configure import Inner, make_model
from safegain.search.auto_numbers import REFERENCES, STRUCTURED, _cross_validated, _standings, auto_regression
from safegain.search.training import Data, Settings
from sklearn.linear_model import Ridge

import safegain.evidence.residuals
import safegain.search.residual_space
from safegain import PGSRegressor
from safegain.bilevel.implicit import Cholesky
from safegain.bilevel.outer_loop import search
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.safeness import Bootstrap
from safegain.bilevel.selection import Candidate, Selection, Standing
from safegain.bilevel.solvers import ClosedForm
from safegain.data.inputs import fit_inputs
from safegain.data.rows import Joined
from safegain.data.stages import Stages
from safegain.evidence.residuals import stacked_rows
from safegain.search.residual_space import Curve, ResidualCurve
from tests.problems import make_problem

ANY = Curve(level=0.6, cutoff=1.5, power=1.7, sharpness=5.0, shrink=0.4, wariness=0.3).parameters  # inside the cube


def space(n=30, n_trusted=4, *, eps1=1.0, eps2=100.0, missing=False, seed=0):
    residual = torch.from_numpy(np.random.RandomState(seed).standard_t(1.5, n + n_trusted))
    labelled = torch.arange(n) % 3 > 0 if missing else torch.ones(n, dtype=torch.bool)
    return ResidualCurve(residual, 0.7, labelled, eps1, eps2, ANY)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("eps1", "eps2"), [(1.0, 100.0), (25.0, 0.5)])  # inside, and at both limits
def test_gradients_are_those_of_finite_differences(missing, eps1, eps2):
    curve = space(eps1=eps1, eps2=eps2, missing=missing)
    random = torch.Generator().manual_seed(1)
    gw, gQ = (torch.randn(34, dtype=torch.float64, generator=random) for _ in range(2))

    def value(p):
        point = curve.point((p,))
        return float(point.w @ gw + point.Q @ gQ)

    (pulled,) = curve.pull((ANY,), gw, gQ)
    steps = 1e-6 * torch.eye(len(ANY), dtype=torch.float64)
    expected = [(value(ANY + step) - value(ANY - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(pulled.numpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("eps1", "eps2", "n_parts"), [(1.0, 100.0, 6), (25.0, 100.0, 1), (1.0, 0.5, 1)])
def test_many_rows_are_derived_in_blocks(monkeypatch, eps1, eps2, n_parts):
    curve = space(eps1=eps1, eps2=eps2, missing=True)
    random = torch.Generator().manual_seed(1)
    gw, gQ = (torch.randn(34, dtype=torch.float64, generator=random) for _ in range(2))
    (whole,) = curve.pull((ANY,), gw, gQ)
    monkeypatch.setattr(safegain.search.residual_space, "BLOCK_ROWS", 7)
    assert len(curve._parts(ANY)) == n_parts  # five blocks and the trusted rows, unless a limit is reached
    np.testing.assert_allclose(curve.pull((ANY,), gw, gQ)[0], whole, rtol=1e-12)


def test_hypergradients_reach_the_parameters():
    problem = make_problem("linear", None, False)
    residual = problem.lower.base - problem.outputs(problem.theta)[:, 0]
    curve = ResidualCurve(residual, 0.8, torch.ones(20, dtype=torch.bool), 1.0, 100.0, ANY)  # 4 rows taken as trusted
    raw = Candidate(None, problem.theta, problem.point, problem.raw)
    seen = []
    selection = Selection(raw, lambda each: seen.append(each) or Standing(0.0, 0.0, 0.0))
    bilevel = Bilevel(problem.lower, problem.upper, curve, ClosedForm(), Cholesky())
    search(bilevel, selection, theta=problem.theta, steps=1, learning_rate=1e-3)

    def objective(p):
        point = curve.point((p,))
        solution = ClosedForm().solve(problem.lower, point.w, point.Q, start=problem.theta)
        return float(problem.objective(solution.theta))

    slope = [(objective(ANY + h) - objective(ANY - h)) / 2e-6 for h in 1e-6 * torch.eye(6, dtype=torch.float64)]
    moved = seen[-1].point.parameters - ANY
    # The first step of Adam is the rate against the sign of the gradient.
    np.testing.assert_allclose(moved.numpy(), -1e-3 * np.sign(slope), rtol=1e-6)


def test_every_point_is_feasible():
    random = torch.Generator().manual_seed(0)
    for eps1, eps2, missing in ((0.0, 1e9, False), (29.9, 0.0, True), (30.0, 1e-3, False), (3.0, 2.0, True)):
        curve = space(eps1=eps1, eps2=eps2, missing=missing)
        corners = torch.randint(2, (100, 6), generator=random).double()
        for p in (*torch.rand(100, 6, dtype=torch.float64, generator=random), *corners):
            point = curve.point((p,))
            assert curve.violation(point) < 1e-12
            assert torch.isfinite(point.w).all()
            assert ((point.w >= 0) & (point.w <= 1)).all()
            assert (point.Q[30:] == 0).all()
    outside = torch.full((6,), 1.3, dtype=torch.float64)
    assert curve.project((outside,))[0].tolist() == [1.0] * 6
    broken = replace(curve.point((ANY,)), w=torch.full((34,), 1.5))
    assert curve.violation(broken) == pytest.approx(0.5)


def test_competitors_are_points():
    curve = space(eps1=0.0)
    u = curve.residual.abs()[:30] / curve.scale

    def weights(**values):
        return curve.point((Curve(**values).parameters,)).w

    assert (weights(level=1.0, power=0.0) == 1).all()  # least squares
    assert (weights(level=0.0)[:30] == 0).all()  # trusted rows alone
    assert (weights(level=0.0)[30:] == 1).all()
    huber = weights(level=1.0, cutoff=1.3, power=1.0, sharpness=32.0)[:30]
    np.testing.assert_allclose(huber, (1.3 / u).clamp(max=1), atol=0.025)
    cauchy = weights(level=1.0, cutoff=2.0, power=2.0, sharpness=2.0)[:30]
    np.testing.assert_allclose(cauchy, 1 / (1 + (u / 2) ** 2))
    rejecting = weights(level=1.0, cutoff=1.3, power=8.0, sharpness=32.0)[:30]
    assert (rejecting[u > 3] < 0.01).all()
    assert (rejecting[u < 1] > 0.99).all()
    shifted = curve.point((Curve(level=1.0, cutoff=0.1, power=8.0, shrink=1.0).parameters,))
    np.testing.assert_allclose(shifted.Q[:30][u > 1], -curve.residual[:30][u > 1], rtol=1e-6)  # onto the fit
    with pytest.raises(ValueError, match="outside the range"):
        _ = Curve(level=1.2).parameters


def made_up(n=300, n_trusted=60, *, wrong=0.4, size=8.0, missing=0.0, biased=0.0, seed=0, d=5):
    """Rows of a linear model with standard error 0.3; which weak labels have an error of `size`."""
    random = np.random.RandomState(seed)
    X, coefficient = random.randn(n + n_trusted + 2000, d), random.randn(d)
    true = X @ coefficient + 0.3 * random.randn(len(X)) + 1
    y, spoilt = true.copy(), np.arange(len(X)) < round(wrong * n)
    y[spoilt] += size * random.randn(spoilt.sum()) + biased
    y[:n][random.rand(n) < missing] = np.nan
    return X, y, spoilt[:n], (X[n + n_trusted :], true[n + n_trusted :])


def problem_of(X, y, n, n_trusted, *, model="ridge", n_rank=0, sparse=False, **changes):
    rows = scipy.sparse.csr_array(np.where(np.abs(X) > 0.2, X, 0)) if sparse else X
    labels, end = torch.from_numpy(y), n + n_trusted
    search_rows, rank = slice(n, end - n_rank), slice(end - n_rank, end)
    ranked = (rows[rank], labels[rank]) if n_rank else (None, None)
    known = {
        "X": rows[:n],
        "y": labels[:n],
        "X_search": rows[search_rows],
        "y_search": labels[search_rows],
        "X_rank": ranked[0],
        "y_rank": ranked[1],
    }
    data = Data(**dict.fromkeys(field.name for field in fields(Data)) | known)  # no classes, no groups
    inputs = fit_inputs(data.X, model=model, scaling="auto")
    settings = Settings(
        inputs=inputs,
        model=make_model(model, data.X, inputs, n_hidden=10, n_classes=None),
        inner=Inner("auto", steps=100, learning_rate=None, batch_size=None, memory_budget=2**29, tol=1e-7),
        engine="auto",
        safeness=Bootstrap(3),
        penalty_weight=1.0,
        hinge=False,
        alpha=1e-4,
        eps1=0.1 * n,
        eps2=n**0.5 * float(np.nanstd(y)),
        n_outer=20,
        lr_outer=0.06,
    )
    return data, replace(settings, **changes)


def run(data, settings, *, seed=0, **options):
    return auto_regression(data, settings, random=np.random.RandomState(seed), **options)


def error(settings, theta, test):
    X, y = test
    return float((settings.model.outputs(theta, settings.inputs.rows(X))[:, 0] - torch.from_numpy(y)).square().mean())


def test_finds_the_wrong_labels_and_gains():
    X, y, spoilt, test = made_up()
    data, settings = problem_of(X, y, 300, 60)
    found = run(data, settings)
    assert found.chosen == STRUCTURED
    assert found.w[~spoilt].mean() > 3 * found.w[spoilt].mean()
    errors = {name: error(settings, theta, test) for name, theta in found.references.items()}
    assert error(settings, found.theta, test) < min(errors.values())
    assert found.reference == min(errors, key=errors.__getitem__) == "trusted"
    assert found.standings[STRUCTURED] < found.standings["best"]
    assert len(found.compared) == 60
    assert all(record["violation"] < 1e-12 for record in found.history)
    assert {record["fold"] for record in found.history} == set(range(5))
    assert found.status.startswith("Gained")


def test_references_are_ridge_regressions_on_their_rows():
    X, y, _, (Z, _) = made_up(d=3)
    data, settings = problem_of(X, y, 300, 60, alpha=0.2)
    found = run(data, settings)
    mean, scale = X[:300].mean(axis=0), X[:300].std(axis=0)
    for name, rows in (("raw", slice(300)), ("raw+trusted", slice(360)), ("trusted", slice(300, 360))):
        penalty = 0.2 / 2 * len(y[rows])  # of the sum over rows, where ours is of the mean
        expected = Ridge(penalty).fit((X[rows] - mean) / scale, y[rows]).predict((Z - mean) / scale)
        outputs = settings.model.outputs(found.references[name], settings.inputs.rows(Z))[:, 0]
        np.testing.assert_allclose(outputs, expected, atol=1e-9)


def test_falls_back_to_the_reference_itself():
    # Trusted rows of another model than the weak ones: what is learned from weak rows only harms.
    X, y, _, _ = made_up(wrong=0.0)
    y[:300] = np.random.RandomState(1).permutation(y[:300]) + 2
    y[300:360] = X[300:360] @ np.arange(5.0)
    data, settings = problem_of(X, y, 300, 60)
    found = run(data, settings)
    assert (found.reference, found.chosen) == ("trusted", "trusted")
    assert found.theta is found.references["trusted"]
    assert (found.w == 0).all()
    assert (found.shifts == 0).all()
    assert found.status.startswith("Fell back")
    given = run(data, settings, reference="raw")
    assert given.reference == "raw"
    assert given.chosen == STRUCTURED  # better than the raw model, which is what was asked
    with pytest.raises(ValueError, match="reference: must be one of"):
        run(data, settings, reference="none")


def test_clean_labels_and_few_trusted_rows_lose_nothing():
    for seed in range(4):
        X, y, _, test = made_up(n_trusted=20, wrong=0.0, seed=seed)
        data, settings = problem_of(X, y, 300, 20)
        found = run(data, settings)
        assert found.chosen in ("raw", "raw+trusted")
        assert "not visibly worse" in found.status
        assert error(settings, found.theta, test) < 1.01 * error(settings, found.references["raw+trusted"], test)


def test_a_rare_kind_of_row_is_no_wrong_label():
    # One row in thirty is of another kind, which few trusted rows may miss: ignoring it would look good on them.
    X, y, _, (Z, t) = made_up(n_trusted=20, wrong=0.0)
    for rows, labels in ((X[:300], y[:300]), (Z, t)):
        labels[::30] = 25.0
        rows[::30, 0] += 4.0
    data, settings = problem_of(X, y, 300, 20)
    found = run(data, settings)
    assert found.standings[STRUCTURED] < 0.5 * found.standings["raw+trusted"]
    assert found.chosen in ("raw", "raw+trusted")
    assert error(settings, found.theta, (Z, t)) < error(settings, found.references["trusted"], (Z, t))


@pytest.mark.parametrize("n_trusted", [2, 3, 5])
def test_a_handful_of_trusted_rows(n_trusted):
    X, y, _, test = made_up(n_trusted=n_trusted)
    data, settings = problem_of(X, y, 300, n_trusted)
    found = run(data, settings)
    assert np.isfinite(error(settings, found.theta, test))
    assert len(found.compared) == n_trusted


@pytest.mark.parametrize("missing", [0.5, 0.97])
def test_rows_without_a_label(missing):
    X, y, _, test = made_up(n=400, missing=missing)
    data, settings = problem_of(X, y, 400, 60)
    found = run(data, settings)
    bare = np.isnan(y[:400])
    predicted = settings.model.outputs(found.theta, settings.inputs.rows(X[:400][bare]))[:, 0]
    assert (found.base[torch.from_numpy(bare)] - predicted).abs().mean() < 0.3 * predicted.std()
    assert (found.shifts[torch.from_numpy(bare)] == 0).all()
    np.testing.assert_array_equal(found.base[~torch.from_numpy(bare)], y[:400][~bare])
    floor = min(error(settings, theta, test) for theta in found.references.values())
    assert error(settings, found.theta, test) < 1.1 * floor


def test_compared_rows_are_not_seen_before():
    X, y, _, _ = made_up()
    data, settings = problem_of(X, y, 300, 60)
    stacked = stacked_rows(data, settings, np.random.RandomState(0), torch.Generator().manual_seed(0))
    fold = torch.arange(60) < 12

    def first_curve(stacked):
        return _cross_validated(stacked, [fold], Stages(1, np.random.RandomState(0), torch.Generator()), ())[1][0]

    def with_labels_of(rows):
        base = stacked.base + 9.0 * torch.cat([torch.zeros(300), rows])
        return replace(stacked, base=base, lower=replace(stacked.lower, base=base))

    assert torch.equal(first_curve(with_labels_of(fold)), first_curve(stacked))
    assert not torch.equal(first_curve(with_labels_of(torch.arange(60) == 12)), first_curve(stacked))


def test_sparse_rows():
    X, y, _, _ = made_up()
    data, settings = problem_of(X, y, 300, 60, sparse=True)
    found = run(data, settings)
    dense = replace(data, X=data.X.toarray(), X_search=data.X_search.toarray())
    np.testing.assert_allclose(run(dense, settings).theta[:-1], found.theta[:-1], atol=0.05)  # centred, not only scaled
    assert found.chosen == STRUCTURED


def test_a_network_is_compared_on_the_ranking_rows():
    X, y, spoilt, test = made_up(n=150, n_trusted=60, d=3)
    data, settings = problem_of(X, y, 150, 60, model="mlp", n_rank=20)
    found = run(data, settings)
    assert len(found.compared) == 20
    assert error(settings, found.theta, test) < error(settings, found.references["raw"], test)
    if found.chosen == STRUCTURED:
        assert found.w[~spoilt].mean() > found.w[spoilt].mean()


def test_the_same_seed_gives_the_same_model_and_global_state_is_left_alone():
    X, y, _, _ = made_up(n=100, n_trusted=30)
    data, settings = problem_of(X, y, 100, 30)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    labels = data.y.clone()
    first, second = run(data, settings, seed=3), run(data, settings, seed=3)
    assert torch.equal(first.theta, second.theta)
    assert torch.equal(first.curve, second.curve)
    assert first.standings == second.standings
    assert torch.equal(before, torch.get_rng_state())
    assert (numpy_before == np.random.get_state()[1]).all()  # noqa: NPY002
    assert torch.equal(labels, data.y)


def test_the_best_reference_stands_as_chosen_on_other_folds():
    # By hand: "raw" wins on fold 0 and "trusted" on fold 1, so each fold sees the other one's choice.
    losses = torch.tensor([[0.0, 5.0], [9.0, 9.0], [4.0, 1.0], [2.0, 2.0]], dtype=torch.float64)
    folds = [torch.tensor([True, False]), torch.tensor([False, True])]
    standings, best = _standings(losses, folds, 3)
    assert standings == {"raw": 2.5, "raw+trusted": 9.0, "trusted": 2.5, STRUCTURED: 2.0, "best": 4.5}
    assert best in REFERENCES
    assert _standings(losses, folds, 2) == (standings | {"best": 2.5}, "raw")  # without "trusted"


def test_the_comparison_is_a_cross_validation_over_the_trusted_rows(monkeypatch):
    X, y, _, _ = made_up(d=3)
    rows = np.arange(360)
    X, y, trusted = X[:360], 7 * y[:360] + 2, (rows >= 120) & (rows % 4 == 0)  # in units of their own; right labels
    drawn, plain = [], safegain.search.auto_numbers._comparison_folds
    monkeypatch.setattr(safegain.search.auto_numbers, "_comparison_folds", lambda *a: drawn.extend(plain(*a)) or drawn)
    fitted = PGSRegressor(alpha=0.2, random_state=0).fit(X, y, trusted=trusted)
    assert list(fitted.references_) == list(REFERENCES)
    assert fitted.references_["raw"] is fitted.raw_model_
    assert fitted.comparison_.columns.tolist() == ["row", "model", "loss"]
    found = fitted.comparison_.pivot(index="row", columns="model", values="loss")
    assert found.index.tolist() == np.flatnonzero(trusted).tolist()
    assert set(found) == {*REFERENCES, "new"}
    # Trusted rows come in the order of Data: those of the search, then those for ranking.
    order = np.concatenate([np.flatnonzero(trusted & ~fitted.held_out_), np.flatnonzero(fitted.held_out_)])
    scaled = (X - X[~trusted].mean(axis=0)) / X[~trusted].std(axis=0)
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
    assert found["new"].mean() == pytest.approx(compared.new_loss)


NETWORK, FREE = {"model": "mlp", "n_inner": 30, "n_hidden": 5}, {"search_space": "free", "n_outer": 2}


@pytest.mark.parametrize("settings", [NETWORK, FREE])
def test_others_compare_numbers_on_the_rows_held_out(settings):
    X, y, _, _ = made_up(d=3)
    X, y, trusted = X[:360], 7 * y[:360] + 2, np.arange(360) % 4 == 0
    fitted = PGSRegressor(reference="raw", random_state=0, **settings).fit(X, y, trusted=trusted)
    rows = np.flatnonzero(fitted.held_out_)
    found = dict(iter(fitted.comparison_.groupby("model")))
    assert "new" in found
    assert all(part["row"].tolist() == rows.tolist() for part in found.values())
    np.testing.assert_allclose(found["raw"]["loss"], (fitted.raw_model_.predict(X[rows]) - y[rows]) ** 2)
    if "model" not in settings and not fitted.safeness_.fell_back:
        np.testing.assert_allclose(found["new"]["loss"], (fitted.predict(X[rows]) - y[rows]) ** 2)


def test_many_rows_are_read_where_they_are(monkeypatch):
    X, y, _, _ = made_up(d=3)
    rows = np.arange(360)
    X, y, trusted = X[:360], y[:360], (rows >= 120) & (rows % 4 == 0)
    whole = PGSRegressor(random_state=0).fit(X, y, trusted=trusted)
    monkeypatch.setattr(safegain.search.training, "MOST_KEPT", 100)
    joined, plain = [], safegain.evidence.residuals.join_rows
    monkeypatch.setattr(
        safegain.evidence.residuals, "join_rows", lambda *a, **k: joined.append(plain(*a, **k)) or joined[-1]
    )
    found = PGSRegressor(random_state=0).fit(X, y, trusted=trusted)
    weak = [each.parts[0] for each in joined if isinstance(each, Joined)]
    assert len(weak) == 1 + 2 * 5  # all rows; and for each fold, with either half of the trusted rows
    assert all(np.shares_memory(each.source.X, X) for each in weak)
    np.testing.assert_allclose(found.model_.theta, whole.model_.theta, rtol=1e-6)
    np.testing.assert_allclose(found.sample_weight_, whole.sample_weight_, rtol=1e-6)
    np.testing.assert_allclose(found.comparison_["loss"], whole.comparison_["loss"], rtol=1e-6)
