"""The certificate as a part of `fit`: rows that nothing has seen, and what is handed back without it."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import safegain.certificates.comparison
from safegain import Claims, Linear, PGSClassifier, PGSRegressor, certify
from tests.search.samples import classifier, digits, unseen

CERTIFIED = {"model": Linear(alpha=0.01), "reference": "raw"}


def test_a_clear_gain_is_certified_by_rows_that_nothing_has_seen():
    X, noisy, true, trusted = digits()
    fitted = classifier(**CERTIFIED, certificate=Claims(size=40)).fit(X, noisy, trusted=trusted)
    aside = fitted.set_aside_
    assert aside.sum() == 40
    assert (aside & trusted).sum() == aside.sum()
    assert not (aside & fitted.held_out_).any()
    assert fitted.certificate_.certified
    assert not fitted.safeness_.fell_back
    assert fitted.model_ is not fitted.reference_model_
    again = certify(fitted.model_, fitted.reference_model_, X[aside], true[aside], 0.04)
    assert again.entries == fitted.certificate_.entries
    assert fitted.certificate_.remarks == (
        "This is test 1 of its ledger, at level 0.04; the tests so far keep level 0.05.",
    )

    def said(fitted):
        return [model.predict_proba(X) for model in (fitted.reference_model_, fitted.model_)]

    def fitted_on(X, y):
        other = classifier(**CERTIFIED, certificate=Claims(size=40)).fit(X, y, trusted=trusted)
        np.testing.assert_array_equal(other.set_aside_, aside)
        return said(other)

    blurred = np.where(aside[:, None], X + np.random.RandomState(1).randn(*X.shape), X)
    for first, second in zip(said(fitted), fitted_on(blurred, noisy), strict=True):
        np.testing.assert_array_equal(first, second)
    blurred[np.flatnonzero(trusted & ~aside)[0]] += 1  # and any other trusted row counts
    assert not np.array_equal(said(fitted)[-1], fitted_on(blurred, noisy)[-1])


def test_what_is_not_certified_is_not_handed_back():
    X, noisy, _, trusted = digits()
    fitted = classifier(**CERTIFIED, certificate=Claims(size=8, delta=0.005)).fit(X, noisy, trusted=trusted)
    assert not fitted.certificate_.certified
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.fell_back
    assert fitted.safeness_.step is None
    assert fitted.safeness_.status == (
        "Fell back: the new model was not certified, so this is the reference, Linear(alpha=0.01) trained on "
        "raw rows. "
        f"{fitted.certificate_.sentence}"
    )
    assert all(each.new_loss == each.raw_loss and each.margin == 0 for each in fitted.safeness_.sets)
    np.testing.assert_array_equal(fitted.corrected_labels_, noisy)
    assert (fitted.sample_weight_ == 1).all()


def test_what_is_to_be_certified_is_passed_on(monkeypatch):
    X, noisy, _, trusted = digits()
    groups = np.where(np.arange(len(noisy)) % 2, "left", "right")
    priors = {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}
    setting = Claims(0.2, size=0.4, tolerance=0.01, per_class=True, per_group=True, priors=priors)
    calls = []
    monkeypatch.setattr(
        safegain.certificates.comparison, "certify", lambda *a, **k: calls.append((a, k)) or certify(*a, **k)
    )
    fitted = classifier(**CERTIFIED, certificate=setting).fit(X, noisy, trusted=trusted, groups=groups)
    ((_, _, rows, y, claims), named) = calls[0]
    aside = fitted.set_aside_
    assert aside.sum() == pytest.approx(0.4 * trusted.sum(), abs=4)
    np.testing.assert_array_equal(rows, X[aside])
    np.testing.assert_array_equal(y, noisy[aside])
    np.testing.assert_array_equal(named["groups"], groups[aside])
    assert claims == setting.with_params(size=None)
    names = [entry.name for entry in fitted.certificate_.entries]
    assert names == ["all rows", "group left", "group right", *(f"class {c}" for c in range(4))]
    plain = classifier(**CERTIFIED, certificate=0.05).fit(X, noisy, trusted=trusted, groups=groups)
    assert [entry.name for entry in plain.certificate_.entries] == ["all rows"]
    assert plain.set_aside_.sum() == pytest.approx(trusted.sum() / 2, abs=2)


def test_certify_on_fresh_rows():
    X, noisy, _, trusted = digits()
    fitted = classifier(**CERTIFIED).fit(X, noisy, trusted=trusted)
    Z, t = unseen()
    claims = Claims(0.1, measures="brier", per_class=True)
    expected = certify(fitted.model_, fitted.reference_model_, Z, t, claims.with_params(delta=0.08))
    assert fitted.certify(Z, t, claims).entries == expected.entries
    assert len(expected.entries) == 5
    with pytest.raises(ValueError, match="X: X has 3 features"):
        fitted.certify(Z[:, :3], t)


def test_a_regression_is_certified_too():
    X, y = load_diabetes(return_X_y=True)
    trusted = np.arange(len(y)) % 5 < 3
    rng = np.random.RandomState(0)
    given = np.where(trusted, y, y + 400 * (rng.rand(len(y)) < 0.5))
    fitted = PGSRegressor("linear", certificate=0.1, reference="raw", random_state=0).fit(X, given, trusted=trusted)
    aside = fitted.set_aside_
    assert aside.sum() == pytest.approx(trusted.sum() / 2, abs=1)
    assert fitted.certificate_.certified
    (entry,) = fitted.certificate_.entries
    seen = y[trusted & ~aside]
    assert (entry.measure, entry.bound) == ("squared_error", np.ptp(seen) ** 2)
    assert fitted.certify(X + 0.01, y).entries[0].bound == np.ptp(y[trusted]) ** 2  # all trusted labels now
    # Labels of the rows set aside have no say in anything, not even in the units of the others.
    other = PGSRegressor("linear", certificate=0.1, reference="raw", random_state=0)
    other.fit(X, np.where(aside, given + 5, given), trusted=trusted)
    for first, second in ((fitted.references_["raw"], other.references_["raw"]), (fitted.model_, other.model_)):
        np.testing.assert_array_equal(first.predict(X), second.predict(X))
    wide = PGSRegressor("linear", certificate=Claims(clip=50.0, measures="absolute_error"), random_state=0)
    (entry,) = wide.fit(X, given, trusted=trusted).certificate_.entries
    assert (entry.measure, entry.bound) == ("absolute_error", 50.0)


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (1.5, "The 'certificate' parameter"),
        (Claims(size=3), r"certificate: size=3 sets 3 of \d+ trusted rows aside; at level 0.04 it takes at least 5"),
        (Claims(size=0.999), "some must be left to learn from"),
        (Claims(per_group=True), r"certificate: per_group=True needs the group of every row"),
    ],
)
def test_certificates_that_cannot_be(certificate, message):
    X, noisy, _, trusted = digits(120, k=3)
    with pytest.raises(ValueError, match=message):
        classifier(model="linear", certificate=certificate).fit(X, noisy, trusted=trusted)


@pytest.mark.parametrize("delta", [1.5, 0, "never", True])
def test_a_level_that_is_none(delta):
    with pytest.raises(ValueError, match="Claims: delta must be a number between 0 and 1"):
        Claims(delta)


def test_a_certificate_needs_trusted_rows_of_the_users():
    X, noisy, _, _ = digits(120, k=3)
    with pytest.raises(ValueError, match="certificate: needs rows whose labels you trust, and none are named"):
        classifier(model="linear", certificate=0.05).fit(X, noisy)


def test_trusted_rows_that_are_there_twice_are_not_set_aside():
    """A nearest neighbour would know the label of each from its copy."""
    X, noisy, _, trusted = digits()
    X, y = np.concatenate([X, X[trusted]]), np.concatenate([noisy, noisy[trusted]])
    named = np.concatenate([trusted, np.zeros(trusted.sum(), dtype=bool)])
    with pytest.raises(ValueError, match=r"certificate: only 0 of \d+ trusted rows can be set aside; \d+ repeat rows"):
        classifier(**CERTIFIED, certificate=0.05).fit(X, y, trusted=named)


def test_fit_again_tests_no_row_twice_and_shares_the_level():
    X, noisy, _, trusted = digits()
    claims = Claims(size=20, delta=0.001)  # which nothing passes
    first = classifier(**CERTIFIED, certificate=claims).fit(X, noisy, trusted=trusted)
    second = classifier(**CERTIFIED, certificate=claims).fit(X, noisy, trusted=trusted, ledger=first.ledger_)
    assert not (first.set_aside_ & second.set_aside_).any()
    assert second.set_aside_.sum() == 20
    assert [each.ledger_.outcomes for each in (first, second)] == [[False], [False, False]]
    assert second.certificate_.entries[0].delta == pytest.approx(0.001 * 0.8 * 0.2)
    assert "This is test 2 of its ledger, at level 0.00016" in second.certificate_.sentence


def test_certificate_is_a_parameter_and_certify_a_method():
    setting = Claims(0.1, size=20)
    model = classifier(model="linear", certificate=setting)
    assert model.get_params()["certificate"] is setting
    assert clone(model).get_params()["certificate"] == setting
    assert "certificate=Claims(delta=0.1, size=20" in " ".join(repr(model).split())
    assert model.set_params(certificate=0.2).get_params()["certificate"] == 0.2
    assert "certificate=0.2" in repr(model)
    assert PGSClassifier().get_params()["certificate"] is None
    assert PGSClassifier.certify.__doc__.startswith("Test on fresh trusted rows")
    X, noisy, _, trusted = digits(200, k=3)
    model.set_params(certificate=setting).fit(X, noisy, trusted=trusted)
    Z, t = unseen(200, 3)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.get_params()["certificate"] == setting
        assert again.certificate_ == model.certificate_
        assert again.ledger_.outcomes == model.ledger_.outcomes
    assert again.certify(Z, t, 0.2) == model.certify(Z, t, 0.2)


def test_a_fit_says_of_how_many_trusted_rows_its_certificate_does_not_speak():
    X, noisy, _, trusted = digits()
    copied = np.flatnonzero(trusted)[:10]
    X, y = np.concatenate([X, X[copied]]), np.concatenate([noisy, noisy[copied]])
    named = np.concatenate([trusted, np.zeros(10, dtype=bool)])
    fitted = classifier(**CERTIFIED, certificate=0.2).fit(X, y, trusted=named)
    about = f"10 of {trusted.sum()} trusted rows repeat others: the claim is about rows unlike those of the fit."
    assert fitted.certificate_.remarks[0] == about
    assert not fitted.set_aside_[copied].any()
