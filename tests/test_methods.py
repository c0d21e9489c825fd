"""The network methods: each one's own idea by hand or against autograd, and what all of them share."""

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits, make_regression
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch.nn.functional import cross_entropy

from safegain import PGSClassifier, PGSRegressor
from safegain import baselines as methods
from safegain.baselines.base import Weak
from safegain.baselines.bootstrapping import Bootstrapped
from safegain.baselines.consistency import Averaged, Consistency, ramp_up
from safegain.baselines.gold import estimated_transition
from safegain.baselines.noise_layer import NoiseLayer, corrected_loss, log_given, smoothed_identity
from safegain.baselines.pgs_refit import Weighted, candidates
from safegain.baselines.pgs_refit_linear import FIRM, Candidate, best_candidate
from safegain.baselines.pseudo_label import PseudoLabelled, rise
from safegain.baselines.reweighting import MetaWeighted, Reweighted, gradient, mean_of, parameters_of, row_tangents
from safegain.bilevel.search_space import Point
from safegain.learners import recipe as recipes
from safegain.learners.recipe import CrossEntropy, Material, Network, Objective, Recipe, batches, draw, train
from tests.problems import numpy_state

SHORT = Recipe(n_hidden=16, n_steps=70, learning_rate=1e-2, n_looks=5)
SEARCH = PGSClassifier("mlp", search_space="free", reference="raw", n_inner=10, lr_inner=1.0, n_outer=2, n_hidden=8)
CLASSIFIERS = [
    methods.BaselineClassifier(recipe=SHORT, random_state=0),
    methods.TrustedOnlyClassifier(recipe=SHORT, random_state=0),
    methods.BestBaselineClassifier(recipe=SHORT, random_state=0),
    methods.Reed(recipe=SHORT, random_state=0),
    methods.Reed("hard", recipe=SHORT, random_state=0),
    methods.SModel(recipe=SHORT, random_state=0),
    methods.GoldLossCorrection(recipe=SHORT, random_state=0),
    methods.PiModel(recipe=SHORT, random_state=0),
    methods.MeanTeacher(decay=0.9, recipe=SHORT, random_state=0),  # 70 steps are too few for a long memory
    methods.PseudoLabel(recipe=SHORT, random_state=0),
    methods.LearningToReweight(recipe=SHORT, random_state=0),
    methods.MetaWeightNet(recipe=SHORT, random_state=0),
    methods.PGSRefit(SEARCH, recipe=SHORT, random_state=0),
]


@parametrize_with_checks(
    [*CLASSIFIERS, methods.PGSRefitRegressor(PGSRegressor("ridge", search_space="free", n_outer=2), random_state=0)]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def material(n=60, d=5, k=3, *, unlabelled=0, held=20, seed=0):
    g = generator(seed)
    X, X_held = torch.randn(n, d, generator=g).double(), torch.randn(held, d, generator=g).double()
    y, y_held = X[:, :k].argmax(dim=1), X_held[:, :k].argmax(dim=1)
    y[:unlabelled] = -1
    return Material(X, y, torch.arange(n) >= 2 * n // 3, X_held, y_held, k)


def network(of, seed=1, **settings):
    recipe = Recipe(n_hidden=7, **settings)
    return Network(of.X.shape[1], of.n_classes, recipe, generator(seed), of.X.dtype)


def noisy_digits(n=600):
    X, y = load_digits(return_X_y=True)
    random = np.random.RandomState(0)
    noisy = np.where(random.rand(n) < 0.4, (y[:n] + random.randint(1, 10, n)) % 10, y[:n])
    trusted = np.arange(n) % 4 == 0
    return X[:n], np.where(trusted, y[:n], noisy), trusted, X[n:], y[n:]


def test_a_round_of_batches_has_every_row_once():
    rows = torch.tensor([3, 5, 8, 9, 11, 12])
    draws = batches(rows, 2, generator())
    rounds = [torch.cat([next(draws) for _ in range(3)]) for _ in range(2)]
    assert all(sorted(round_.tolist()) == rows.tolist() for round_ in rounds)
    assert rounds[0].tolist() != rounds[1].tolist()
    assert len(next(batches(rows, 100, generator()))) == 6
    assert set(draw(rows, 50, generator()).tolist()) == set(rows.tolist())
    assert len(draw(rows[:0], 50, generator())) == 0


def test_dropout_drops_with_a_generator_only_and_keeps_the_mean():
    of = material()
    net = network(of, dropout=0.4)
    plain = net(of.X)
    assert torch.equal(plain, net(of.X))
    passes = torch.stack([net(of.X, generator(i)) for i in range(3000)]).detach()
    assert passes.std(dim=0).min() > 0
    standard_error = passes.std(dim=0) / 3000**0.5
    assert ((passes.mean(dim=0) - plain).abs() < 5 * standard_error).all()


class Backwards(Objective):
    """Learns wrong labels: the held-out loss rises from look to look."""

    def loss(self, rows, progress):
        return -cross_entropy(self.logits(rows), self.material.y[rows])


@pytest.mark.parametrize("idea", [CrossEntropy, Backwards])
def test_the_best_look_is_kept(idea, monkeypatch):
    of, seen = material(), []
    look = recipes.held_out_loss

    def recording(*arguments):
        seen.append(look(*arguments))
        return seen[-1]

    monkeypatch.setattr(recipes, "held_out_loss", recording)
    settings = Recipe(n_hidden=7, n_steps=50, n_looks=5, learning_rate=0.05, dropout=0.0, weight_decay=0.0)
    best = train(idea(network(of), of, generator()), settings)
    assert len(seen) == 5
    assert look(best, of) == min(seen)
    assert (seen.index(min(seen)) == 0) == (idea is Backwards)


def test_without_held_out_rows_the_last_step_counts():
    of = material(held=0)
    objective = CrossEntropy(network(of), of, generator())
    assert train(objective, Recipe(n_steps=3)) is objective.network


def test_bootstrapping_by_hand():
    of = material()
    z, y = torch.tensor([[1.0, 2.0, 0.5]]).double(), torch.tensor([0])
    q = torch.softmax(z, dim=1)[0]
    soft = Bootstrapped(network(of), of, generator(), soft=True, beta=0.9).row_losses(z, y)
    assert soft.item() == pytest.approx(float(-0.9 * q[0].log() - 0.1 * (q * q.log()).sum()))
    hard = Bootstrapped(network(of), of, generator(), soft=False, beta=0.8).row_losses(z, y)
    assert hard.item() == pytest.approx(float(-0.8 * q[0].log() - 0.2 * q[1].log()))


def test_trusted_rows_are_not_bootstrapped():
    of = material()
    objective = Bootstrapped(network(of, dropout=0.0), of, generator(), soft=True, beta=0.1)
    trusted, weak = torch.arange(50, 60), torch.arange(10)
    with torch.no_grad():
        plain = [cross_entropy(objective.network(of.X[rows]), of.y[rows]) for rows in (trusted, weak)]
        assert objective.loss(trusted, 0.5) == pytest.approx(plain[0].item())
        assert abs(objective.loss(weak, 0.5) - plain[1]) > 1e-3


def test_noise_layer_is_a_product_with_the_transition_matrix():
    random = generator()
    p = torch.softmax(torch.randn(4, 3, generator=random).double(), dim=1)
    T = torch.softmax(torch.randn(3, 3, generator=random).double(), dim=1)
    assert torch.allclose(log_given(p.log(), T.log()).exp(), p @ T, atol=1e-12)
    start = smoothed_identity(3, 0.3, torch.float64)
    assert torch.allclose(start, torch.tensor([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]).double())
    of = material()
    layer = NoiseLayer(network(of), of, generator(), smoothing=0.3)
    assert torch.allclose(torch.softmax(layer.own_parameters()[0], dim=1), start)
    y, trusted = torch.tensor([0, 1, 2, 0]), torch.tensor([True, False, True, False])
    rows = torch.arange(4)
    by_hand = -torch.where(trusted, p[rows, y], (p @ T)[rows, y]).log().mean()
    assert corrected_loss(p.log(), y, trusted, T.log()) == pytest.approx(by_hand.item())


def test_gold_matrix_is_the_mean_prediction_of_a_class():
    p = torch.tensor([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])
    found = estimated_transition(p, torch.tensor([0, 0, 2]))
    assert torch.allclose(found, torch.tensor([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.2, 0.2, 0.6]]))


def test_gold_finds_the_transition_of_separable_rows():
    random = np.random.RandomState(0)
    T = np.array([[0.6, 0.4, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]])
    true = random.randint(3, size=1500)
    X = np.eye(3)[true] * 4 + 0.1 * random.randn(1500, 3)
    given = np.array([random.choice(3, p=T[c]) for c in true])
    trusted = np.arange(1500) >= 1300
    model = methods.GoldLossCorrection(recipe=Recipe(n_hidden=16, n_steps=400), random_state=0)
    model.fit(X, np.where(trusted, true, given), trusted=trusted)
    assert np.abs(model.transition_ - T).max() < 0.08
    assert model.score(X, true) == 1


def test_consistency_ramp():
    assert ramp_up(0) == pytest.approx(np.exp(-5))
    assert ramp_up(0.2) == pytest.approx(np.exp(-1.25))
    assert ramp_up(0.4) == ramp_up(1) == 1


def test_pi_model_compares_two_noisy_passes():
    of = material(unlabelled=20)
    rows = of.labelled[:8]
    still = Consistency(network(of, dropout=0.0), of, generator(), weight=100.0)
    still.noise = 0.0
    plain = cross_entropy(still.network(of.X[rows]), of.y[rows])
    assert still.loss(rows, 1.0).item() == pytest.approx(plain.item())  # two equal passes agree
    shaken = Consistency(network(of), of, generator(5), weight=3.0)
    total = shaken.loss(rows, 1.0)
    again = Consistency(network(of), of, generator(5), weight=3.0)
    both = torch.cat([rows, draw(of.unlabelled, 8, again.generator)])
    z, other = again.noisy(again.network, both), again.noisy(again.network, both)
    distance = (torch.softmax(z, dim=1) - torch.softmax(other, dim=1)).square().mean()
    assert distance > 0
    assert total.item() == pytest.approx((cross_entropy(z[:8], of.y[rows]) + 3 * distance).item())
    total.backward()
    (cross_entropy(z[:8], of.y[rows]) + 3 * distance).backward()
    assert torch.allclose(shaken.network.U.grad, again.network.U.grad)  # through both passes
    # A teacher's pass is a target: nothing flows into it.
    taught = Averaged(network(of), of, generator(5), weight=3.0, decay=0.9)
    taught.loss(rows, 1.0).backward()
    assert all(part.grad is None for part in taught.teacher.parameters())
    assert not torch.allclose(taught.network.U.grad, shaken.network.U.grad)


def test_mean_teacher_is_the_running_average():
    of = material()
    net = network(of)
    objective = Averaged(net, of, generator(), weight=1.0, decay=0.7)
    past = [deepcopy(net.U.detach())]
    for step in range(1, 8):
        with torch.no_grad():
            net.U.add_(torch.randn(net.U.shape, generator=generator(step)).double())
        past.append(net.U.detach().clone())
        objective.after_step()
    expected = past[0]
    for step in range(1, 8):
        kept = min(step / (step + 1), 0.7)
        expected = kept * expected + (1 - kept) * past[step]
    assert torch.allclose(objective.teacher.U, expected, atol=1e-14)
    assert objective.judged is objective.teacher
    assert torch.equal(net.U, past[-1])
    # While young it is the plain mean: with steps 1 and 2 only, (start + first + second) / 3.
    young = Averaged(network(of), of, generator(), weight=1.0, decay=0.999)
    start = young.network.U.detach().clone()
    for _ in range(2):
        with torch.no_grad():
            young.network.U.add_(3)
        young.after_step()
    assert torch.allclose(young.teacher.U, start + 3)


def test_pseudo_labels_come_in_along_a_line():
    assert [rise(t) for t in (0, 0.1, 0.35, 0.6, 1)] == pytest.approx([0, 0, 0.5, 1, 1])
    of = material(unlabelled=20)
    rows = of.labelled[:8]
    objective = PseudoLabelled(network(of, dropout=0.0), of, generator(3), weight=2.0)
    early = objective.loss(rows, 0.05)
    assert early.item() == pytest.approx(cross_entropy(objective.network(of.X[rows]), of.y[rows]).item())
    late = PseudoLabelled(network(of, dropout=0.0), of, generator(3), weight=2.0).loss(rows, 0.35)
    others = draw(of.unlabelled, 8, generator(3))
    z = objective.network(of.X[others])
    assert late.item() == pytest.approx((early + 2 * 0.5 * cross_entropy(z, z.argmax(dim=1))).item())


def test_row_tangents_against_the_gradient_of_each_row():
    of = material()
    net = network(of)
    along = {name: torch.randn(value.shape, generator=generator(9)).double() for name, value in net.named_parameters()}
    found = row_tangents(net, of.X[:6], of.y[:6], along)
    for i in range(6):
        g = gradient(net, parameters_of(net), of.X[[i]], of.y[[i]], torch.ones(1).double())
        assert found[i].item() == pytest.approx(sum((g[name] * along[name]).sum().item() for name in g), abs=1e-12)


def test_learning_to_reweight_takes_the_rows_that_help_in_one_step():
    of = material()
    net = network(of, dropout=0.0)
    objective = Reweighted(net, of, generator())
    X, y, Xg, yg = of.X[:12], of.y[:12].clone(), of.X[40:], of.y[40:]
    y[:6] = (y[:6] + 1) % 3
    found = objective.weigh(X, y, Xg, yg)

    def trusted_loss_after(weights):
        now = parameters_of(net)
        g = gradient(net, now, X, y, weights)
        ahead = {name: value - 1e-4 * g[name] for name, value in now.items()}
        return cross_entropy(torch.func.functional_call(net, ahead, (Xg,)), yg).item()

    zero = torch.zeros(12).double()
    helps = [
        max(trusted_loss_after(zero) - trusted_loss_after(zero.index_fill(0, torch.tensor([i]), 1.0)), 0)
        for i in range(12)
    ]
    assert np.allclose(found, np.array(helps) / sum(helps), atol=1e-3)
    assert found.sum().item() == pytest.approx(1)
    assert found[:6].sum() < found[6:].sum()


def test_meta_weight_net_moves_against_the_derivative_through_the_step():
    of = material()
    net, random_state = network(of, dropout=0.0), torch.get_rng_state()
    objective = MetaWeighted(net, of, generator(), rate=0.3)
    assert torch.equal(torch.get_rng_state(), random_state)
    X, y, Xg, yg = of.X[:12], of.y[:12], of.X[40:], of.y[40:]
    meta = deepcopy(objective.meta)
    losses = cross_entropy(net(X), y, reduction="none").detach()[:, None]
    leaves = {name: value.requires_grad_() for name, value in parameters_of(net).items()}
    weighted = (
        meta(losses)[:, 0] * cross_entropy(torch.func.functional_call(net, leaves, (X,)), y, reduction="none")
    ).mean()
    steps = torch.autograd.grad(weighted, list(leaves.values()), create_graph=True)
    ahead = {name: value - 0.3 * g for (name, value), g in zip(leaves.items(), steps, strict=True)}
    cross_entropy(torch.func.functional_call(net, ahead, (Xg,)), yg).backward()
    objective.weigh(X, y, Xg, yg)
    for exact, found in zip(meta.parameters(), objective.meta.parameters(), strict=True):
        assert torch.allclose(found.grad, exact.grad, atol=1e-12)
    assert mean_of(X).sum().item() == pytest.approx(1)


def test_weighted_objective_by_hand_and_candidates():
    of = material()
    w, Q = (
        torch.rand(60, generator=generator()).double(),
        torch.softmax(torch.randn(60, 3, generator=generator()), 1).double(),
    )
    w[3] = 0
    objective = Weighted(network(of, dropout=0.0), of, generator(), weights=w, targets=Q)
    assert objective.rows.tolist() == [i for i in range(60) if i != 3]
    rows = torch.arange(5)
    log_p = torch.log_softmax(objective.network(of.X[rows]), dim=1)
    assert objective.loss(rows, 0.1).item() == pytest.approx((-(w[rows] * (Q[rows] * log_p).sum(1)).mean()).item())
    weak = ~of.trusted
    given = torch.nn.functional.one_hot(of.y, 3).double()
    for power, (weights, targets) in zip((1, 2), candidates(of, Point(w[weak], Q[weak])), strict=True):
        assert torch.equal(targets, given)  # labels stay as given
        assert (weights[of.trusted] == 1).all()
        for c in range(3):  # a class keeps its share, its rows trade weight among themselves
            rows = weak & (of.y == c)
            assert torch.allclose(weights[rows], w[rows] ** power / (w[rows] ** power).mean())
    half = material(unlabelled=20)
    for share, (weights, targets) in zip((1.0, 0.3), candidates(half, Point(w[weak], Q[weak])), strict=True):
        assert torch.equal(targets[:20], Q[:20])  # rows without a label have the search's
        assert torch.allclose(weights[:20], share * w[:20])
        assert (weights[20:] == 1).all()


def test_refit_without_a_better_candidate_is_the_baseline(monkeypatch):
    X, y, trusted, X_test, _ = noisy_digits()
    monkeypatch.setattr("safegain.baselines.pgs_refit.candidates", lambda *_: iter(()))
    refit = methods.PGSRefit(SEARCH, recipe=SHORT, random_state=3).fit(X, y, trusted=trusted)
    baseline = methods.BaselineClassifier(recipe=SHORT, random_state=3).fit(X, y, trusted=trusted)
    assert (refit.held_out_ == baseline.held_out_).all()
    assert (refit.held_out_ <= trusted).all()
    assert (refit.predict_proba(X_test) == baseline.predict_proba(X_test)).all()
    assert (refit.sample_weight_ == ~refit.held_out_).all()
    again = pickle.loads(pickle.dumps(refit))
    assert (again.predict_proba(X_test) == refit.predict_proba(X_test)).all()
    assert again.search_.callbacks is None


def test_refit_of_a_frame_and_of_few_trusted_rows():
    X, y, _, X_test, _ = noisy_digits(200)
    trusted = np.arange(200) < 30  # too few to hold any out: the baseline comes back
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        refit = methods.PGSRefit(SEARCH, recipe=SHORT, random_state=0)
        refit.fit(pd.DataFrame(X).rename(columns=str), y, trusted=trusted)
    baseline = methods.BaselineClassifier(recipe=SHORT, random_state=0).fit(X, y, trusted=trusted)
    assert not refit.held_out_.any()
    assert (refit.predict(pd.DataFrame(X_test).rename(columns=str)) == baseline.predict(X_test)).all()


def test_refit_is_not_worse_than_the_baseline_on_held_out_rows_and_corrects_labels():
    X, y, trusted, X_test, y_test = noisy_digits()
    refit = methods.PGSRefit(recipe=Recipe(n_steps=300), random_state=0).fit(X, y, trusted=trusted)
    baseline = methods.BaselineClassifier(recipe=Recipe(n_steps=300), random_state=0).fit(X, y, trusted=trusted)
    held = refit.held_out_
    assert refit.score(X[held], y[held]) >= baseline.score(X[held], y[held])
    assert (refit.corrected_labels_[trusted] == y[trusted]).all()
    assert (refit.corrected_labels_[~trusted] == refit.predict(X[~trusted])).all()
    assert refit.search_.n_iter_ == 8
    assert refit.score(X_test, y_test) > 0.8


def test_linear_baseline_is_left_only_for_a_firm_gain():
    random = np.random.RandomState(0)
    X = random.randn(200, 1)
    weak = Weak.__new__(Weak)
    weak.held = np.arange(200) >= 150
    weak.labels = type("labels", (), {"numbers": X[:, 0] + 0.1 * random.randn(200)})()
    baseline = Candidate(np.ones(200), np.where(weak.held, weak.labels.numbers, X[:, 0] + 1))
    better = Candidate(np.ones(200), weak.labels.numbers)
    assert best_candidate(X, weak, [baseline, better]) is better
    # A lower loss within the standard error of the gain is not enough; beyond it, it is.
    held = weak.held

    def gain_in_errors(candidate):
        losses = [
            (each.fit(X, ~held).predict(X[held]) - weak.labels.numbers[held]) ** 2 for each in (better, candidate)
        ]
        gain = losses[0] - losses[1]
        return gain.mean() / (gain.std() / np.sqrt(held.sum()))

    tilts = [Candidate(np.ones(200), weak.labels.numbers + tilt) for tilt in np.linspace(-0.1, 0.1, 81)]
    gains = np.array([gain_in_errors(tilt) for tilt in tilts[:40] + tilts[41:]])
    lucky = (tilts[:40] + tilts[41:])[int(np.argmin(np.abs(gains - 0.8)))]
    assert 0.2 < gain_in_errors(lucky) < FIRM
    assert best_candidate(X, weak, [better, lucky]) is better
    weak.held = np.zeros(200, dtype=bool)
    assert best_candidate(X, weak, [baseline, better]) is baseline


def test_linear_refit_gains_on_noisy_targets_and_its_first_candidate_is_the_baseline():
    X, y = make_regression(n_samples=600, n_features=8, noise=10, random_state=0)
    random = np.random.RandomState(1)
    trusted = np.arange(600) >= 400
    weak = np.where(trusted | (random.rand(600) < 0.5), y, y + 300 * random.randn(600))
    refit = methods.PGSRefitRegressor(random_state=0).fit(X[:500], weak[:500], trusted=trusted[:500])
    baseline = methods.BaselineRegressor(random_state=0).fit(X[:500], weak[:500], trusted=trusted[:500])
    assert refit.score(X[500:], y[500:]) > baseline.score(X[500:], y[500:])
    unmoved = methods.PGSRefitRegressor(selection_fraction=0.0, random_state=0)
    unmoved.fit(X[:500], weak[:500], trusted=trusted[:500])
    assert np.allclose(unmoved.predict(X), LinearRegression().fit(X[:500], weak[:500]).predict(X))
    assert (unmoved.predict(X) == baseline.predict(X)).all()
    tuned = methods.TunedBaselineRegressor(random_state=0).fit(X[:500], weak[:500], trusted=trusted[:500])
    assert tuned.score(X[500:], y[500:]) > baseline.score(X[500:], y[500:])
    few = np.where(np.arange(500) % 2 == 0, y[:500], np.nan)
    few[trusted[:500]] = y[:500][trusted[:500]]
    plain, tuned = (each.fit(X[:500], few, trusted=trusted[:500]) for each in (baseline, tuned))
    assert (tuned.predict(X) == plain.predict(X)).all()  # rows without a label have nothing to offer


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_same_seed_same_bits_and_global_generators_untouched(model):
    X, y, trusted, X_test, _ = noisy_digits(200)
    X_before, y_before = X.copy(), y.copy()
    torch_state, threads = torch.get_rng_state(), torch.get_num_threads()
    numbers = numpy_state()
    short = model.__class__(**{**model.get_params(deep=False), "recipe": Recipe(n_steps=20, n_hidden=8)})
    first, second = (short.fit(X, y, trusted=trusted).predict_proba(X_test) for _ in range(2))
    assert (first == second).all()
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert numpy_state() == numbers
    assert torch.get_num_threads() == threads
    assert np.array_equal(X, X_before)
    assert np.array_equal(y, y_before)


@pytest.mark.parametrize(
    "model", [*CLASSIFIERS[:2], *CLASSIFIERS[7:10], CLASSIFIERS[-1]], ids=lambda m: type(m).__name__
)
def test_rows_without_a_label(model):
    X, y, trusted, X_test, y_test = noisy_digits()
    clean = np.where(trusted, y, load_digits().target[: len(y)])
    clean[~trusted & (np.arange(len(y)) % 2 == 1)] = -1
    model = model.__class__(**{**model.get_params(deep=False), "recipe": Recipe(n_steps=300, n_hidden=64)})
    assert model.fit(X, clean, trusted=trusted).score(X_test, y_test) > 0.75
    assert model.classes_.tolist() == list(range(10))


def test_errors_name_the_argument():
    X, y, trusted, _, _ = noisy_digits(100)
    for model, words in [
        (methods.Reed("medium"), "kind: must be 'soft' or 'hard'"),
        (methods.Reed(beta=2.0), "beta: must lie in"),
        (methods.SModel(smoothing=0.0), "smoothing: must lie in"),
        (methods.MeanTeacher(decay=1.0), "decay: must lie in"),
        (methods.MetaWeightNet(rate=0.0), "rate: must be positive"),
        (methods.BaselineClassifier(selection_fraction=1.0), "selection_fraction: must lie in"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(X, y, trusted=trusted)
        assert not hasattr(model, "trusted_")  # a failed fit leaves nothing behind
    with pytest.raises(ValueError, match="Recipe: n_steps must be a whole number of at least 1"):
        Recipe(n_steps=0)


def test_everything_in_all_is_there():
    assert sorted(methods.__all__) == sorted(set(methods.__all__))
    assert all(hasattr(methods, name) for name in methods.__all__)


def test_best_baseline_is_the_best_of_its_trainings():
    X, y, trusted, _, _ = noisy_digits()
    best = methods.BestBaselineClassifier(recipe=SHORT, random_state=3).fit(X, y, trusted=trusted)
    first = methods.BaselineClassifier(recipe=SHORT, random_state=3).fit(X, y, trusted=trusted)
    held = best.held_out_
    assert (held == first.held_out_).all()
    assert best.score(X[held], y[held]) >= first.score(X[held], y[held])


@pytest.mark.parametrize(("second", "kept"), [((0.1, 0.4), True), ((0.1, 0.6), False), ((0.05, 0.55), False)])
def test_refit_leaves_the_baseline_for_less_loss_without_more_mistakes(second, kept, monkeypatch):
    X, y, trusted, _, _ = noisy_digits(200)
    scores = iter([(0.1, 0.5), (0.2, 0.3), second])  # baseline; a candidate with more mistakes; the other candidate
    monkeypatch.setattr("safegain.baselines.pgs_refit.judged", lambda *_: next(scores))
    refit = methods.PGSRefit(SEARCH, recipe=SHORT, random_state=0).fit(X, y, trusted=trusted)
    weak = ~trusted
    assert (len(np.unique(refit.sample_weight_[weak])) > 1) == kept
    for c in range(10):  # a class keeps its share
        assert refit.sample_weight_[weak & (y == c)].mean() == pytest.approx(1)


def test_a_candidate_with_every_weight_one_is_least_squares_to_the_last_bit():
    for seed in range(20):
        random = np.random.RandomState(seed)
        X, y = random.rand(61, 7), random.rand(61)
        found = Candidate(np.ones(61), y).fit(X, np.ones(61, dtype=bool))
        assert (found.predict(X) == LinearRegression().fit(X, y).predict(X)).all()
