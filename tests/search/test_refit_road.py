"""The default road for classes: its references, its contest, and what it falls back to."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeRegressor

import safegain.search.heads
from safegain import Linear, PerClass, PerGroup, PGSRegressor
from safegain.evidence.classes import find_evidence
from safegain.search.references import NEW, REFERENCES
from safegain.search.refit_road import SHARE, best_share, refit_road
from safegain.search.trainers import SolverTrainer
from tests.search.samples import FAST, classifier, digits, made, made_up, misled, of_classes


def test_the_share_goes_to_who_is_right():
    y = torch.from_numpy(np.random.RandomState(0).randint(3, size=200))
    right = (2 * torch.eye(3, dtype=torch.float64)[y] + made((200, 3), 1)).log_softmax(dim=1)
    noise = made((200, 3), 2).log_softmax(dim=1)
    assert best_share(right, noise, y) > 0.8
    assert best_share(noise, right, y) < 0.2
    also = (2 * torch.eye(3, dtype=torch.float64)[y] + made((200, 3), 3)).log_softmax(dim=1)
    assert 0.3 < best_share(right, also, y) < 0.7  # two witnesses that err apart


@pytest.mark.parametrize("reference", [*REFERENCES, "best"])
def test_the_reference_is_the_one_asked_for(reference):
    X, noisy, _, trusted = digits(k=3)
    fitted = classifier(model=Linear(alpha=0.01), reference=reference).fit(X, noisy, trusted=trusted)
    search, weak = trusted & ~fitted.held_out_, ~trusted
    rows = {"raw": weak, "raw+trusted": weak | search, "trusted": search}
    scaled = (X - X[weak].mean(axis=0)) / np.where(X[weak].std(axis=0) > 0, X[weak].std(axis=0), 1)
    losses = {record["candidate"]: record["rank_loss"] for record in fitted.history_ if "rank_loss" in record}
    if reference == "best":
        assert fitted.reference_ == min(REFERENCES, key=losses.__getitem__)
    else:
        assert fitted.reference_ == reference
        assert set(losses) == {"raw", reference, NEW}
    for name, model in ((fitted.reference_, fitted.reference_model_), ("raw", fitted.references_["raw"])):
        part = rows[name]
        oracle = LogisticRegression(C=1 / (0.01 * part.sum()), max_iter=3000, tol=1e-8).fit(scaled[part], noisy[part])
        np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(scaled), atol=1e-3)


@pytest.mark.parametrize(("reference", "kept"), [("best", "raw+trusted"), ("raw", "raw"), ("trusted", "trusted")])
def test_too_few_trusted_rows(reference, kept):
    X, noisy, true, _ = digits()
    trusted = np.arange(len(noisy)) < 30
    few = classifier(reference=reference).fit(X, np.where(trusted, true, noisy), trusted=trusted)
    assert few.reference_ == kept
    assert few.model_ is few.reference_model_
    assert few.safeness_.fell_back
    assert few.safeness_.status == (
        "Fell back: 30 trusted rows are too few to compare models on some of them, so this is the reference, trained "
        f"on {kept} rows."
    )
    assert str(few.safeness_) == few.safeness_.status  # no set to compare on
    assert (few.references_["raw"] is few.model_) == (kept == "raw")
    np.testing.assert_array_equal(few.corrected_labels_[~trusted], noisy[~trusted])
    assert few.comparison_.empty
    assert few.comparison_.columns.tolist() == ["row", "model", "loss", "mistake"]


@pytest.mark.parametrize("model", [Linear(), FAST], ids=["linear", "network"])
def test_falls_back_when_the_refit_is_bad(model, monkeypatch):
    X, noisy, _, trusted = digits()
    bare = ~trusted & (np.arange(len(noisy)) % 5 == 4)
    given = np.where(bare, -1, noisy)
    monkeypatch.setattr(safegain.search.heads, "find_evidence", misled(find_evidence))
    fitted = classifier(model=model).fit(X, given, trusted=trusted)
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.fell_back
    assert fitted.safeness_.step is None
    assert fitted.safeness_.status.startswith("Fell back: the refit was not better (log-loss ")
    assert [each.margin for each in fitted.safeness_.sets] == [0.0]
    np.testing.assert_array_equal(fitted.sample_weight_, ~bare)
    np.testing.assert_array_equal(fitted.corrected_labels_[~bare], noisy[~bare])
    np.testing.assert_allclose(fitted.label_distribution_[bare], fitted.predict_proba(X[bare]), atol=1e-6)
    assert fitted.label_issues().empty
    assert [record["candidate"] for record in fitted.history_] == [*REFERENCES, NEW]
    refused = fitted.comparison_.query("model == 'new'")
    assert refused["loss"].mean() == pytest.approx(fitted.history_[-1]["rank_loss"])
    assert refused["mistake"].mean() == fitted.history_[-1]["mistakes"] > 0.5


def test_ones_own_safeness_can_veto():
    X, noisy, true, trusted = digits()
    settings = {"model": Linear(alpha=0.01), "reference": "raw"}
    safe = classifier(**settings, safeness=PerClass()).fit(X, noisy, trusted=trusted)
    assert [each.name for each in safe.safeness_.sets] == ["held-out rows", *(f"class {c}" for c in range(4))]
    assert not safe.safeness_.fell_back
    assert all(each.margin == each.raw_loss - each.new_loss >= 0 for each in safe.safeness_.sets)
    held = safe.held_out_ & (true == 2)
    p = safe.references_["raw"].predict_proba(X[held])[:, 2]
    assert safe.safeness_.sets[3].raw_loss == pytest.approx(-np.log(p).mean())
    # A small group whose trusted labels are wrong: the surer a model is of the truth, the worse it does there.
    odd = trusted & (np.arange(len(true)) % 40 < 3)
    groups, given = np.where(odd, "odd", "even"), np.where(odd, (true + 1) % 4, noisy)
    free = classifier(**settings).fit(X, given, trusted=trusted, groups=groups)
    bound = classifier(**settings, safeness=PerGroup()).fit(X, given, trusted=trusted, groups=groups)
    assert not free.safeness_.fell_back
    assert bound.model_ is bound.references_["raw"]
    assert bound.safeness_.status == (
        "Fell back: the new model was worse on group odd, so this is the reference, trained on raw rows."
    )
    assert [each.name for each in bound.safeness_.sets] == ["held-out rows", "group even", "group odd"]
    assert all(each.margin == 0 and each.new_loss == each.raw_loss for each in bound.safeness_.sets)


@pytest.mark.parametrize(
    ("estimator", "measure"),
    [(LogisticRegression(C=0.01, max_iter=1000), "log-loss"), (LinearSVC(), "share of mistakes")],
)
def test_a_gain_in_words(estimator, measure):
    X, noisy, _, trusted = digits()
    fitted = classifier(model=estimator, reference="raw").fit(X, noisy, trusted=trusted)
    (held,), n = fitted.safeness_.sets, fitted.held_out_.sum()
    old, new = (fitted.comparison_.query(f"model == '{name}'")["mistake"].sum() for name in ("raw", NEW))
    assert fitted.safeness_.status == (
        f"Safe: better than the reference, trained on raw rows, with {measure} {held.new_loss:.4g} against "
        f"{held.raw_loss:.4g} and {new} against {old} mistakes on {n} trusted rows that the search did not use. This "
        "is a comparison on the rows at hand, not a certificate."
    )


def numbers_fit(**settings):
    X, y, _, _ = made_up()
    model = PGSRegressor(DecisionTreeRegressor(min_samples_leaf=5), random_state=0, **settings)
    return model.fit(X[:360], y[:360], trusted=np.arange(360) >= 300)


def test_a_gain_of_numbers_in_words():
    fitted = numbers_fit()
    (held,) = fitted.safeness_.sets
    assert fitted.safeness_.status == (
        f"Safe: better than the reference, trained on {fitted.reference_} rows, with mean squared error "
        f"{held.new_loss:.4g} against {held.raw_loss:.4g} on 30 trusted rows that the search did not use. This is a "
        "comparison on the rows at hand, not a certificate."
    )
    assert fitted.history_[-1]["share"] == 1.0


def test_nothing_to_correct_with_all_trusted_rows(monkeypatch):
    monkeypatch.setattr(safegain.search.heads.NumberHead, "with_all", lambda self: None)
    fitted = numbers_fit()
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.status == (
        "Fell back: with all trusted rows there was nothing to correct, so this is the reference, trained on "
        f"{fitted.reference_} rows."
    )


def test_the_held_out_rows_are_taken_in_by_the_last_training_only(monkeypatch):
    """Which rows each training may use and stop on, and how far it trusts the evidence."""
    told, plain = [], SolverTrainer.on_evidence

    def on_evidence(self, rows, stop_on, evidence, share):
        told.append((rows, stop_on, share))
        return plain(self, rows, stop_on, evidence, share)

    monkeypatch.setattr(SolverTrainer, "on_evidence", on_evidence)
    X, noisy, _, trusted = digits()
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    found = refit_road(of_classes(X, noisy, trusted, held, learner=Linear(alpha=0.01), reference="raw"), 0.5)
    assert not found.fell_back
    n, n_held = len(noisy), held.sum()
    (first, stopped, share), (last, not_stopped, found_share) = told
    assert first.tolist() == list(range(n - n_held))  # held-out rows come last
    assert stopped.tolist() == list(range(n - n_held, n))
    assert last.tolist() == list(range(n))
    assert not_stopped.tolist() == []
    assert share == SHARE
    assert found_share == found.history[-1]["share"] != SHARE
    assert [record["candidate"] for record in found.history] == ["raw", NEW, NEW]
    assert found.n_iter == 3
