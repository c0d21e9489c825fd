"""The structured search: it descends, and falls back to distributions."""

import numpy as np
import pytest

import safegain.search.structured
from safegain import Descent, Network, PGSClassifier, Structured
from safegain.evidence.pooled import find_evidence
from tests.search.samples import digits, misled


@pytest.mark.parametrize("model", ["linear", Network(solver=Descent(n_steps=60))], ids=["linear", "network"])
def test_the_structured_search_descends(model):
    X, noisy, true, trusted = digits()
    search = Structured(n_outer=6, lr_outer=0.2)
    fitted = PGSClassifier(model, search=search, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    first, *_, last = (record["objective"] for record in fitted.history_)
    assert last < first - 0.005
    assert all(record["violation"] <= 1e-9 for record in fitted.history_)
    assert not fitted.safeness_.fell_back
    wrong = noisy != true
    assert (fitted.corrected_labels_ == true)[wrong].mean() > 0.8
    assert fitted.label_distribution_[~trusted].max() < 1  # a posterior, not labels


def test_the_structured_search_falls_back_to_distributions(monkeypatch):
    X, noisy, _, trusted = digits(200, k=3)
    bare = ~trusted & (np.arange(len(noisy)) % 2 == 0)
    monkeypatch.setattr(safegain.search.structured, "find_evidence", misled(find_evidence))
    settings = {"search": Structured(n_outer=1), "reference": "raw", "random_state": 0}
    fitted = PGSClassifier("linear", **settings).fit(X, np.where(bare, -1, noisy), trusted=trusted)
    assert fitted.model_ is fitted.references_["raw"]
    np.testing.assert_allclose(fitted.label_distribution_.sum(axis=1), 1)
    np.testing.assert_allclose(fitted.label_distribution_[bare], fitted.references_["raw"].predict_proba(X[bare]))
    assert (fitted.sample_weight_ == ~bare).all()


def test_it_has_the_settings_of_an_outer_loop_and_no_workspace():
    search = Structured(n_outer=3, eps2=0.5, callbacks=(print,))
    assert (search.n_outer, search.eps2, search.held_out, search.callbacks) == (3, 0.5, 0.3, (print,))
    with pytest.raises(TypeError, match="Structured takes no option 'workspace'; it is an option of Free"):
        Structured(workspace="folder")


@pytest.mark.parametrize("eps2", [0.0, 0.1])
def test_labels_move_no_further_than_the_budget(eps2):
    X, noisy, _, trusted = digits(200, k=3)
    seen = []
    search = Structured(n_outer=2, eps2=eps2, callbacks=(lambda _, candidate: seen.append(candidate.point.Q),))
    PGSClassifier("linear", search=search, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    given, rows = noisy[~trusted], np.arange((~trusted).sum())
    assert len(seen) == 3
    for Q in seen:
        assert float((1 - Q[rows, given]).mean()) == pytest.approx(eps2, abs=1e-9)
