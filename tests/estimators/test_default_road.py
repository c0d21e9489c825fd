"""The classifier as it comes: what a user sees of a fit on the default road."""

import random

import numpy as np
import pandas as pd
import pytest
import safegain.evidence.classes
import scipy.sparse
import torch
from sklearn.datasets import load_digits

import safegain.learners.kernel
import safegain.search.crew
from safegain import Adam, Auto, Claims, Descent, Free, Linear, Module, PGSClassifier, Structured
from safegain.search.contest import Score
from safegain.search.references import NEW, REFERENCES
from tests.problems import numpy_state
from tests.search.samples import FAST, HARD, at_best_temperature, classifier, digits, fared, unseen


@pytest.fixture(scope="module")
def fitted():
    X, noisy, _, trusted = digits(**HARD)
    return classifier().fit(X, noisy, trusted=trusted)


def test_the_default_gains(fitted):
    _, noisy, true, trusted = digits(**HARD)
    Z, t = unseen(**HARD)
    raw, reference = ((each.predict(Z) == t).mean() for each in (fitted.references_["raw"], fitted.reference_model_))
    assert fitted.score(Z, t) > raw + 0.1
    assert fitted.score(Z, t) > reference + 0.03
    assert not fitted.safeness_.fell_back
    assert fitted.safeness_.status.startswith("Safe: ")
    assert "75 trusted rows that the search did not use" in fitted.safeness_.status
    assert (fitted.held_out_ & trusted).sum() == fitted.held_out_.sum() == 75
    assert fitted.model_.model.h == 64
    wrong = noisy != true
    assert (fitted.corrected_labels_[wrong] == true[wrong]).mean() > 0.9
    np.testing.assert_array_equal(fitted.label_distribution_[trusted], np.eye(10)[true[trusted]])
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1, atol=1e-6)
    issues = fitted.label_issues()
    assert wrong[issues["row"].head(50)].all()
    assert (issues["suggested"].head(50) == true[issues["row"].head(50)]).mean() > 0.9
    assert fitted.certificate_ is None
    assert not fitted.set_aside_.any()


def test_history_has_every_candidate_and_the_reference_is_the_best_of_three(fitted):
    *compared, last = fitted.history_
    assert [record["candidate"] for record in compared] == [*REFERENCES, NEW]
    assert set(last) == {"candidate", "share", "seconds"}
    assert 0 <= last["share"] <= 1
    losses = {record["candidate"]: record["rank_loss"] for record in compared}
    assert fitted.reference_ == min(REFERENCES, key=losses.__getitem__)
    (held,) = fitted.safeness_.sets
    assert (held.name, held.raw_loss, held.new_loss) == ("held-out rows", losses[fitted.reference_], losses[NEW])
    assert held.margin == held.raw_loss - held.new_loss
    X, noisy, *_ = digits(**HARD)
    z = fitted.reference_model_.outputs(X[fitted.held_out_])
    score = Score.of_logits(z, torch.from_numpy(noisy[fitted.held_out_]))
    assert score.loss == pytest.approx(held.raw_loss)
    mistakes = {record["candidate"]: record["mistakes"] for record in compared}
    assert float(score.wrong.double().mean()) == mistakes[fitted.reference_]


def test_the_comparison_is_what_the_references_do_on_held_out_rows(fitted):
    X, noisy, *_ = digits(**HARD)
    assert list(fitted.references_) == list(REFERENCES)
    assert fitted.references_[fitted.reference_] is fitted.reference_model_
    found, rows = fitted.comparison_, np.flatnonzero(fitted.held_out_)
    old = fared(X, noisy, rows, fitted.references_)
    assert len(found) == 4 * len(rows)
    pd.testing.assert_frame_equal(found[: len(old)], old, check_dtype=False, rtol=1e-3, atol=1e-4)
    new, told = found[len(old) :], next(record for record in fitted.history_ if record["candidate"] == NEW)
    assert set(new["model"]) == {"new"}
    assert new["row"].tolist() == rows.tolist()
    assert new["loss"].mean() == pytest.approx(told["rank_loss"])
    assert new["mistake"].mean() == told["mistakes"]
    # The model that is handed back has been trained on these rows; the one that was compared had not.
    last = at_best_temperature(fitted.predict_proba(X[rows]), noisy[rows])
    assert last.mean() < 0.5 * new["loss"].mean()


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
    np.testing.assert_allclose(sparse.label_distribution_, dense.label_distribution_, atol=0.01)
    assert (sparse.predict(scipy.sparse.csr_matrix(X)) == dense.predict(X)).mean() > 0.99
    assert not sparse.safeness_.fell_back
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    with torch.no_grad():
        for i, part in enumerate(net.parameters()):
            part.copy_(0.3 * torch.sin(torch.arange(part.numel()) + i).view(part.shape))
    images = X.reshape(-1, 8, 8).astype(np.float32) / 16
    own = classifier(model=Module(net, solver=Descent(Adam(), n_steps=60))).fit(images, noisy, trusted=trusted)
    assert (own.predict(images) == true).mean() > (own.references_["raw"].predict(images) == true).mean() + 0.05
    assert not own.safeness_.fell_back


def test_same_seed_same_bits_and_gradients_switched_off(fitted):
    X, noisy, _, trusted = digits(**HARD)
    with torch.no_grad():
        again = classifier().fit(X, noisy, trusted=trusted)
    assert torch.equal(again.model_.theta, fitted.model_.theta)
    assert torch.equal(again.reference_model_.theta, fitted.reference_model_.theta)
    np.testing.assert_array_equal(again.label_distribution_, fitted.label_distribution_)
    other = classifier(random_state=1).fit(X, noisy, trusted=trusted)
    assert not torch.equal(other.model_.theta, fitted.model_.theta)


@pytest.mark.parametrize("together", [True, False])
def test_many_rows_are_read_where_they_are(fitted, monkeypatch, together):
    """What is done from a certain number of rows on, done for few: no copy of X, features that are not kept."""
    X, noisy, _, trusted = digits(**HARD)
    expected = fitted
    if together:  # weak rows in one piece
        order = np.argsort(trusted, kind="stable")
        X, noisy, trusted = X[order], noisy[order], trusted[order]
        expected = classifier().fit(X, noisy, trusted=trusted)
    for module in (safegain.learners.kernel, safegain.evidence.classes):
        monkeypatch.setattr(module, "MOST_KEPT", 100)
    joined, plain = [], safegain.search.crew.join_rows
    monkeypatch.setattr(safegain.search.crew, "join_rows", lambda *a, **k: joined.append(plain(*a, **k)) or joined[-1])
    found = classifier().fit(X, noisy, trusted=trusted)
    ((weak, *_),) = (each.parts for each in joined)
    assert np.shares_memory(weak.X if together else weak.source.X, X)
    for name, reference in expected.references_.items():
        np.testing.assert_allclose(found.references_[name].theta, reference.theta, atol=1e-8)
    np.testing.assert_allclose(found.label_distribution_, expected.label_distribution_, atol=0.02)
    assert (found.predict(X) == expected.predict(X)).mean() > 0.98
    np.testing.assert_array_equal(found.held_out_, expected.held_out_)


def test_nothing_of_the_users_is_touched():
    X, noisy, _, trusted = digits()
    kept = X.copy(), noisy.copy(), trusted.copy()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    states = random.getstate(), numpy_state(), torch.get_rng_state()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    for part in (X, noisy, trusted):
        part.setflags(write=False)
    for settings in ({"certificate": Claims(size=20)}, {"model": "linear", "search": Structured(n_outer=1)}):
        classifier(**settings).fit(X, noisy, trusted=trusted).predict(X)
    for part, before in zip((X, noisy, trusted), kept, strict=True):
        np.testing.assert_array_equal(part, before)
    assert (random.getstate(), numpy_state()) == states[:2]
    assert torch.equal(torch.get_rng_state(), states[2])
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)


@pytest.mark.parametrize(
    ("search", "n_trusted", "stages"),
    [(Auto(), 100, "8/8"), (Auto(), 20, "2/2"), (Free(n_outer=1), 100, "1/1"), (Structured(n_outer=2), 100, "2/2")],
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
