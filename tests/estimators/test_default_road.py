"""The classifier as it comes: what a user sees of a fit on the default road."""

import random

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import safegain.search.contest_road
from safegain import Adam, Auto, Claims, Descent, Free, Linear, Module, PGSClassifier, Structured
from safegain.search.references import NEW
from tests.problems import numpy_state
from tests.search.samples import FAST, HARD, classifier, digits, unseen


@pytest.fixture(scope="module")
def fitted():
    """With the evidence as it comes."""
    X, noisy, _, trusted = digits(**HARD)
    return PGSClassifier(random_state=0).fit(X, noisy, trusted=trusted)


def test_the_default_gains(fitted):
    _, noisy, true, trusted = digits(**HARD)
    Z, t = unseen(**HARD)
    reference = (fitted.reference_model_.predict(Z) == t).mean()
    assert fitted.score(Z, t) > reference
    assert not fitted.safeness_.fell_back
    assert fitted.safeness_.status.startswith("Safe: ")
    assert "75 trusted rows that the search did not use" in fitted.safeness_.status
    assert (fitted.held_out_ & trusted).sum() == fitted.held_out_.sum() == 75
    wrong = noisy != true
    assert (fitted.corrected_labels_[wrong] == true[wrong]).mean() > 0.9
    np.testing.assert_array_equal(fitted.label_distribution_[trusted], np.eye(10)[true[trusted]])
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, atol=1e-6)
    issues = fitted.label_issues()
    assert wrong[issues["row"].head(50)].all()
    assert (issues["suggested"].head(50) == true[issues["row"].head(50)]).mean() > 0.9
    assert fitted.certificate_ is None
    assert not fitted.set_aside_.any()


def test_every_family_is_in_the_contest(monkeypatch):
    entered, plain = [], safegain.search.contest_road.candidates

    def candidates(*args, **settings):
        entered.extend(plain(*args, **settings))
        raise Interrupted

    monkeypatch.setattr(safegain.search.contest_road, "candidates", candidates)
    X, noisy, _, trusted = digits(**HARD)
    with pytest.raises(Interrupted):
        PGSClassifier(random_state=0).fit(X, noisy, trusted=trusted)
    for labels in ("raw+trusted", "trusted", "corrected"):
        found = {type(each.learner).__name__ for each in entered if each.labels == labels}
        assert found == {"Forest", "KernelMachine", "Boosting", "DeepNetwork", "Network", "Linear"}


class Interrupted(Exception):
    pass


def test_the_leaderboard_has_those_that_went_on(fitted):
    board = fitted.leaderboard_
    assert board["loss"].is_monotonic_increasing
    assert fitted.n_iter_ == len(board)
    assert fitted.history_ == []
    (held,) = fitted.safeness_.sets
    references = board[board["trained_on"] != "corrected"]
    (kept,) = (each for each in references.itertuples() if each.loss == pytest.approx(held.raw_loss))
    assert (held.name, fitted.reference_) == ("held-out rows", kept.trained_on)
    assert held.margin == held.raw_loss - held.new_loss
    assert f"the reference, {kept.learner} trained on {kept.trained_on} rows" in fitted.safeness_.status


def test_the_comparison_has_the_best_of_each_kind_and_the_new_model(fitted):
    assert fitted.references_ == {fitted.reference_: fitted.reference_model_}
    found, board = fitted.comparison_, fitted.leaderboard_
    losses, mistakes = (found.groupby("model")[part].mean() for part in ("loss", "mistake"))
    went_on = set(board["trained_on"]) - {"corrected"}
    assert set(losses.index) == {*went_on, NEW}
    for name, part in found.groupby("model"):
        assert sorted(part["row"]) == np.flatnonzero(fitted.held_out_).tolist()
        if name != NEW:
            best = board[board["trained_on"] == name].iloc[0]
            assert losses[name] == pytest.approx(best["loss"])
            assert mistakes[name] * len(part) == pytest.approx(best["mistakes"])
    (held,) = fitted.safeness_.sets
    assert losses[NEW] == pytest.approx(held.new_loss)


def test_sparse_rows_are_for_the_families_that_take_them():
    X, noisy, true, trusted = digits(k=3)
    rows = scipy.sparse.csr_array(X)
    fitted = PGSClassifier(random_state=0).fit(rows, noisy, trusted=trusted)
    assert fitted.leaderboard_["learner"].str.startswith("Linear(").all()
    assert (fitted.predict(rows) == true).mean() > 0.9
    np.testing.assert_array_equal(fitted.predict(X), fitted.predict(rows))


def test_rows_are_refused_that_not_every_model_takes(fitted):
    X, noisy, _, trusted = digits(k=3)
    rows = scipy.sparse.csr_array(X)
    with pytest.raises(ValueError, match=r"X: sparse rows need a linear model, got model=\['linear', 'forest'\]"):
        PGSClassifier(["linear", "forest"]).fit(rows, noisy, trusted=trusted)
    with pytest.raises(ValueError, match=r"X: is sparse, and the fit had dense rows.*model='auto'.*X.toarray\(\)"):
        fitted.predict(rows)  # of a fit on dense ones


@pytest.mark.parametrize("model", [Linear(), FAST], ids=["linear", "network"])
def test_rows_without_a_label(model):
    X, noisy, true, trusted = digits(wrong=0.3)
    bare = ~trusted & (np.arange(len(noisy)) % 2 == 0)
    fitted = classifier(model=model, reference="raw").fit(X, np.where(bare, -1, noisy), trusted=trusted)
    assert not fitted.safeness_.fell_back
    assert fitted.classes_.tolist() == [0, 1, 2, 3]
    assert (fitted.corrected_labels_[bare] == true[bare]).mean() > 0.9
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, atol=1e-6)
    assert not bare[fitted.label_issues()["row"]].any()


def test_sparse_rows_and_modules():
    X, noisy, true, trusted = digits(k=3)
    settings = {"model": Linear(scaling="none", alpha=0.01)}
    dense = classifier(**settings).fit(X, noisy, trusted=trusted)
    sparse = classifier(**settings).fit(scipy.sparse.csr_matrix(X), noisy, trusted=trusted)
    # Of sparse rows the evidence is the kernel's alone.
    assert (sparse.corrected_labels_ == dense.corrected_labels_).mean() > 0.97
    assert (sparse.predict(scipy.sparse.csr_matrix(X)) == dense.predict(X)).mean() > 0.99
    assert not sparse.safeness_.fell_back
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        for i, part in enumerate(net.parameters()):
            part.copy_(0.3 * torch.sin(torch.arange(part.numel()) + i).view(part.shape))
    images = X.reshape(-1, 8, 8).astype(np.float32) / 16
    own = classifier(model=Module(net, solver=Descent(Adam(), n_steps=60)), reference="raw").fit(
        images, noisy, trusted=trusted
    )
    assert (own.predict(images) == true).mean() > (own.reference_model_.predict(images) == true).mean() + 0.05
    assert not own.safeness_.fell_back


@pytest.mark.parametrize("model", [FAST, ["linear", RandomForestClassifier(5)]], ids=["network", "list"])
def test_same_seed_same_bits_and_gradients_switched_off(model, monkeypatch):
    X, noisy, _, trusted = digits()
    with torch.no_grad():
        first = classifier(model=model).fit(X, noisy, trusted=trusted)
    again, other = (classifier(model=model, random_state=seed).fit(X, noisy, trusted=trusted) for seed in (0, 1))
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    np.testing.assert_array_equal(again.reference_model_.predict_proba(X), first.reference_model_.predict_proba(X))
    np.testing.assert_array_equal(again.label_distribution_, first.label_distribution_)
    assert not np.array_equal(other.predict_proba(X), first.predict_proba(X))


def test_nothing_of_the_users_is_touched():
    X, noisy, _, trusted = digits()
    kept = X.copy(), noisy.copy(), trusted.copy()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    states = random.getstate(), numpy_state(), torch.get_rng_state()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    for part in (X, noisy, trusted):
        part.setflags(write=False)
    for settings in (
        {"certificate": Claims(size=20), "model": ["auto"]},
        {"model": "linear", "search": Structured(n_outer=1)},
    ):
        classifier(**settings).fit(X, noisy, trusted=trusted).predict(X)
    for part, before in zip((X, noisy, trusted), kept, strict=True):
        np.testing.assert_array_equal(part, before)
    assert (random.getstate(), numpy_state()) == states[:2]
    assert torch.equal(torch.get_rng_state(), states[2])
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)


@pytest.mark.parametrize(
    ("search", "n_trusted", "stages"),
    [(Auto(), 100, "11/11"), (Auto(), 6, ""), (Free(n_outer=1), 100, "1/1"), (Structured(n_outer=2), 100, "2/2")],
    ids=["auto", "few", "free", "structured"],
)
def test_a_bar_shows_the_stages_or_the_steps(capsys, search, n_trusted, stages):
    X, y = load_digits(return_X_y=True)
    X, trusted = X[:300], np.arange(300) < n_trusted
    noisy = np.where(trusted | (np.random.RandomState(0).rand(300) < 0.6), y[:300], (y[:300] + 1) % 10)
    settings = {"search": search, "random_state": 0}
    PGSClassifier("linear", **settings).fit(X, noisy, trusted=trusted)
    assert capsys.readouterr().out == ""
    PGSClassifier("linear", verbose=1, **settings).fit(X, noisy, trusted=trusted)
    shown = capsys.readouterr().err
    assert "searching" in shown
    assert stages in shown
