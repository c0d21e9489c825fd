"""The paper's search: every weight and every label on its own."""

import numpy as np
import pytest
import torch

from safegain import Linear, PGSClassifier, PGSRegressor, Structured
from safegain.bilevel.outer_step import AdamStep, ScaledStep
from safegain.bilevel.search_space import Point
from safegain.search.free import Free
from safegain.search.outer_search import Budget
from tests.search.samples import digits, made_up, of_classes


@pytest.mark.parametrize("workspace", [3, True, ["folder"]])
def test_what_is_no_folder(workspace):
    with pytest.raises(ValueError, match="Free: workspace must be a folder or None, got"):
        Free(workspace=workspace)


def test_a_workspace_changes_nothing_but_where_numbers_lie(tmp_path):
    X, noisy, _, trusted = digits(200, k=3)
    fits = [
        PGSClassifier("linear", search=Free(n_outer=2, workspace=folder), random_state=0).fit(X, noisy, trusted=trusted)
        for folder in (None, tmp_path)
    ]
    assert torch.equal(fits[0].model_.theta, fits[1].model_.theta)
    np.testing.assert_array_equal(fits[0].label_distribution_, fits[1].label_distribution_)
    assert Free(workspace=tmp_path).storage.folder == tmp_path
    assert Free().storage is None
    assert not list(tmp_path.iterdir())  # the files have no names


def space_of(bare, **settings):
    X, noisy, _, trusted = digits(200, k=3)
    given = np.where(~trusted & bare(np.arange(len(noisy))), -1, noisy)
    problem = of_classes(X, given, trusted, np.zeros_like(trusted), learner=Linear(alpha=0.1))
    setup = problem.learner.setup(problem.parts)
    start = Free(**settings)._start(problem, setup, setup.model.init(torch.Generator()), Budget(13.0, 0.7))
    return start, given[~trusted]


def test_every_row_is_free_where_all_have_a_label():
    start, given = space_of(lambda rows: rows < 0)
    w, Q = start.space.start()
    assert (w.shape, Q.shape) == ((len(given),), (len(given), 3))
    assert (start.space.eps1, start.space.eps2) == (13.0, 0.7)


def test_only_rows_without_a_label_are_free_by_the_papers_rule():
    start, given = space_of(lambda rows: rows % 3 == 1, semi_supervised=True)
    w, Q = start.space.start()
    assert (w.shape, Q.shape) == (((given < 0).sum(),), ((given < 0).sum(), 3))
    point = start.space.point((torch.zeros_like(w), Q))
    np.testing.assert_array_equal(point.w, given >= 0)  # labels as given count in full


def test_all_rows_are_free_where_some_have_no_label():
    start, given = space_of(lambda rows: rows % 3 == 1)
    w, Q = start.space.start()
    assert (w.shape, Q.shape) == ((len(given),), (len(given), 3))
    labelled = torch.from_numpy(given >= 0)
    assert torch.equal(Q[labelled], torch.eye(3, dtype=Q.dtype)[torch.from_numpy(given)[labelled]])
    assert torch.allclose(Q.sum(dim=1), torch.ones(len(Q), dtype=Q.dtype))
    assert (Q[~labelled].max(dim=1).values < 1).all()  # what the raw model says
    _, moved = start.space.project((w, 1 - Q))
    own = moved[labelled].gather(1, torch.from_numpy(given)[labelled][:, None])
    assert float((1 - own).mean()) <= 0.7 + 1e-9  # the budget is one of the rows with a label
    assert start.space.violation(start.space.point((w, moved))) < 1e-9


@pytest.mark.parametrize("value", [1, "yes", None])
def test_the_papers_rule_is_on_or_off(value):
    with pytest.raises(ValueError, match="Free: semi_supervised must be True or False, got"):
        Free(semi_supervised=value)


def test_rows_that_compare_iterates_have_no_copy_that_is_learned_from():
    X, noisy, true, trusted = digits(300, k=3)
    copied = np.flatnonzero(trusted)[::3]
    X, noisy = np.concatenate([X, X[copied]]), np.concatenate([noisy, true[copied]])
    trusted = np.concatenate([trusted, np.zeros(len(copied), bool)])
    model = PGSClassifier("linear", search=Free(n_outer=1, held_out=0.5), random_state=0).fit(X, noisy, trusted=trusted)
    held = {row.tobytes() for row in X[model.held_out_]}
    assert len(held) >= 20
    assert not any(row.tobytes() in held for row in X[~model.held_out_])


def test_labels_move_no_further_than_their_budget():
    X, y, _, _ = made_up(n=60, n_trusted=40)
    X, y, trusted = X[:100], 7 * y[:100], np.arange(100) >= 60
    seen = []
    search = Free(n_outer=3, lr_outer=0.5, eps2=20.0, callbacks=(lambda _, candidate: seen.append(candidate.point),))
    fitted = PGSRegressor(search=search, random_state=0).fit(X, y, trusted=trusted)
    lengths = [float(point.Q.norm()) * fitted.record_.labels.scale for point in seen]
    assert max(lengths) == pytest.approx(20.0)  # in the units of y
    assert all(float(point.w.sum()) >= 6.0 - 1e-9 for point in seen)


def test_the_share_that_is_held_out():
    X, noisy, _, trusted = digits()
    for held_out, n in ((0.3, 29), (0.5, 48), (0.1, 0)):  # fewer than 20 are none
        search = Free(n_outer=1, held_out=held_out)
        fitted = PGSClassifier("linear", search=search, random_state=0).fit(X, noisy, trusted=trusted)
        assert fitted.held_out_.sum() == pytest.approx(n, abs=2 if n else 0)


def test_what_counts_less_is_labelled_more_by_the_model():
    Q, w = torch.eye(3)[[0, 1, 1]], torch.tensor([1.0, 0.25, 0.0])
    z = torch.tensor([[0.0, 5.0, 0.0], [2.0, 0.0, 0.0], [1.0, 4.0, 2.0]])
    told = Free().told(Point(w, Q), lambda: z)
    torch.testing.assert_close(told.Q, w[:, None] * Q + (1 - w[:, None]) * torch.softmax(z, dim=1))
    assert torch.equal(told.Q[0], Q[0])  # a row that counts in full keeps its label to the last bit
    shifts = Point(w, torch.ones(3))
    assert Free().told(shifts, lambda: z) is shifts


def test_a_row_whose_weight_has_gone_has_another_label_by_the_model_that_is_handed_over():
    X, noisy, true, trusted = digits(400, k=3)
    wrong = ~trusted & (np.arange(400) % 3 == 0)
    noisy = np.where(wrong, (true + 1) % 3, true)
    search = Free(n_outer=2, lr_outer=3.0)  # weights reach zero at once
    model = PGSClassifier(Linear(alpha=0.1), search=search, reference="raw", random_state=0)
    model.fit(X, noisy, trusted=trusted)
    assert not model.safeness_.fell_back
    gone = ~trusted & (model.sample_weight_ == 0)
    assert 20 < gone.sum() < 300
    assert (model.corrected_labels_[gone] != noisy[gone]).all()
    np.testing.assert_allclose(model.label_distribution_[gone], model.predict_proba(X[gone]), atol=1e-6)
    others = model.predict_proba(X[gone])
    others[np.arange(gone.sum()), noisy[gone]] = 0
    np.testing.assert_array_equal(model.corrected_labels_[gone], model.classes_[others.argmax(axis=1)])
    suggested = model.label_issues().set_index("row")["suggested"]
    np.testing.assert_array_equal(suggested[np.flatnonzero(gone)], model.corrected_labels_[gone])


def test_the_outer_step_is_the_printed_one_for_numbers():
    for classifies, usual in ((True, ScaledStep(0.3)), (False, AdamStep(0.06))):
        assert Free()._way(classifies=classifies) == ({True: 8, False: 20}[classifies], usual)
    assert Free(outer_step="adam", lr_outer=0.1)._way(classifies=True) == (20, AdamStep(0.1))
    assert Free(outer_step="scaled", n_outer=3)._way(classifies=False) == (3, ScaledStep(0.3))
    assert Structured()._way(classifies=True) == (20, AdamStep(0.06))
