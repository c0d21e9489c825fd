"""What both estimators promise: fall back, history, seeds, and nothing of the user's touched."""

import pickle
import random
import warnings

import numpy as np
import pytest
import torch

import safegain
from safegain import Adam, Descent, Network, PGSClassifier
from safegain.bilevel.upper import UpperLevel
from tests.estimators.samples import classifier, model_of, noisy_diabetes, noisy_digits, regressor
from tests.problems import numpy_state

BATCHES = Network(solver=Descent(Adam(), n_steps=40, batch_size=50))


def test_no_iterate_that_is_unsafe_is_returned(monkeypatch):
    """With every iterate made worse on one set, the raw model comes back, bit for bit."""
    X, noisy, _, trusted = noisy_digits(400)
    plain, calls = UpperLevel.losses, []

    def worse_after_the_first(self, theta):
        calls.append(1)
        losses = plain(self, theta)
        return losses if len(calls) <= 2 else losses + torch.tensor([0.0, 1e3, 0.0])  # the raw model is step 0 too

    monkeypatch.setattr(UpperLevel, "losses", worse_after_the_first)
    fitted = classifier().fit(X, noisy, trusted=trusted)
    assert fitted.safeness_.fell_back
    assert fitted.model_ is fitted.references_["raw"]
    assert [record["safe"] for record in fitted.history_] == [True, False, False, False]
    assert "no iterate was safe on all 3 validation sets" in fitted.safeness_.status
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.references_["raw"].predict_proba(X))
    np.testing.assert_array_equal(fitted.corrected_labels_, noisy)


def test_history_and_report_tell_what_happened():
    X, noisy, _, trusted = noisy_digits(400)
    fitted = classifier(n_outer=4).fit(X, noisy, trusted=trusted)
    assert fitted.n_iter_ == 4
    assert [record["step"] for record in fitted.history_] == [0, 1, 2, 3, 4]
    for record in fitted.history_:
        assert set(record) >= {"objective", "margins", "rank_loss", "safe", "violation", "seconds"}
        assert record["violation"] <= 1e-9
        assert set(record["margins"]) == {"bootstrap 1", "bootstrap 2", "bootstrap 3"}
    chosen = fitted.history_[fitted.safeness_.step]
    for s in fitted.safeness_.sets:
        assert s.margin == pytest.approx(s.raw_loss - s.new_loss)
        assert s.margin == pytest.approx(chosen["margins"][s.name])
    assert chosen["rank_loss"] == min(r["rank_loss"] for r in fitted.history_ if r["safe"])
    assert "not a certificate" in str(fitted.safeness_)


def test_the_trusted_rows_as_a_whole_never_lose():
    """Bootstrap samples may leave rows out; the returned model is still no worse on all trusted rows."""
    X, noisy, _, _ = noisy_digits(60, k=3)
    for seed in range(30):
        trusted = np.random.RandomState(seed).permutation(60)[:8]
        if len(np.unique(np.delete(noisy, trusted))) < 3:
            continue
        fitted = classifier(n_outer=4, search={"lr_outer": 0.4}, random_state=seed).fit(X, noisy, trusted=trusted)
        raw, new = (
            -np.log(m.predict_proba(X[trusted])[np.arange(8), noisy[trusted]]).mean()
            for m in (fitted.references_["raw"], fitted)
        )
        assert new <= raw + 1e-12


def test_without_trusted_rows_some_labelled_ones_are_held_out():
    X, noisy, _, _ = noisy_digits(500)
    noisy = noisy.copy()
    noisy[::3] = -1
    fitted = classifier(validation_fraction=0.3).fit(X, noisy)
    assert 0.15 < fitted.trusted_.mean() < 0.25
    assert not fitted.trusted_[::3].any()


def test_a_failed_refit_keeps_the_old_fit():
    X, noisy, _, trusted = noisy_digits(200)
    fitted = classifier().fit(X, noisy, trusted=trusted)
    before = fitted.predict(X)
    with pytest.raises(ValueError, match="mask"):
        fitted.fit(X[:, :5], noisy, trusted=trusted[:3])
    np.testing.assert_array_equal(fitted.predict(X), before)


@pytest.mark.parametrize(
    "make",
    [
        lambda: classifier(BATCHES),
        lambda: classifier(),
        lambda: regressor(),
    ],
)
def test_same_seed_same_bits(make):
    X, noisy, _, trusted = noisy_digits(300) if isinstance(make(), PGSClassifier) else noisy_diabetes()
    first, second = (make().fit(X, noisy, trusted=trusted) for _ in range(2))
    assert torch.equal(first.model_.theta, second.model_.theta)
    np.testing.assert_array_equal(first.sample_weight_, second.sample_weight_)
    np.testing.assert_array_equal(first.corrected_labels_, second.corrected_labels_)
    other = make().set_params(random_state=1).fit(X, noisy, trusted=trusted)
    assert not np.array_equal(first.sample_weight_, other.sample_weight_)


def test_nothing_of_the_users_is_touched():
    X, noisy, _, trusted = noisy_digits(300)
    kept = X.copy(), noisy.copy(), trusted.copy()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    states = random.getstate(), numpy_state(), torch.get_rng_state()
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    for part in (X, noisy, trusted):
        part.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = classifier(BATCHES).fit(X, noisy, trusted=trusted)
        fitted.predict(X)
        fitted.label_issues()
    for part, before in zip((X, noisy, trusted), kept, strict=True):
        np.testing.assert_array_equal(part, before)
    assert random.getstate() == states[0]
    assert numpy_state() == states[1]
    assert torch.equal(torch.get_rng_state(), states[2])
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)


def test_works_where_gradients_are_switched_off():
    X, noisy, _, trusted = noisy_digits(200)
    network = model_of("network", 20)
    with torch.no_grad():
        off = classifier(network).fit(X, noisy, trusted=trusted)
    on = classifier(network).fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(off.sample_weight_, on.sample_weight_)


def test_pickle_keeps_the_predictions():
    X, noisy, _, trusted = noisy_digits(200)
    fitted = classifier().fit(X, noisy, trusted=trusted)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.safeness_ == fitted.safeness_


def test_all_names_what_is_there():
    assert sorted(safegain.__all__) == safegain.__all__
    for name in safegain.__all__:
        assert getattr(safegain, name).__doc__
