"""The road for numbers of a family or an estimator: its references, its contest, and what it falls back to."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from safegain import Auto, PerGroup, PGSRegressor
from safegain.search.number_head import NumberHead
from safegain.search.references import NEW, REFERENCES
from safegain.search.trainers import EstimatorTrainer
from tests.search.samples import made_up


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
    assert [record["candidate"] for record in fitted.history_] == [*REFERENCES, NEW, NEW]


def test_nothing_to_correct_with_all_trusted_rows(monkeypatch):
    monkeypatch.setattr(NumberHead, "with_all", lambda self: None)
    fitted = numbers_fit()
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.status == (
        "Fell back: with all trusted rows there was nothing to correct, so this is the reference, trained on "
        f"{fitted.reference_} rows."
    )


def test_the_best_reference_has_the_least_loss():
    fitted = numbers_fit()
    losses = {record["candidate"]: record["rank_loss"] for record in fitted.history_[:3]}
    assert fitted.reference_ == min(REFERENCES, key=losses.__getitem__)
    compared = fitted.comparison_.groupby("model")["loss"].mean()
    assert losses == pytest.approx({name: compared[name] for name in REFERENCES})
    assert list(fitted.references_) == list(REFERENCES)


@pytest.mark.parametrize(("reference", "kept"), [("best", "raw+trusted"), ("raw", "raw"), ("trusted", "trusted")])
@pytest.mark.parametrize(
    ("n", "search", "reason"),
    [
        (30, Auto(), "30 trusted rows are too few to compare models on some of them"),
        (60, Auto(held_out=0.8), "held_out leaves 12 trusted rows to learn from and 48 to compare on"),
    ],
)
def test_too_few_trusted_rows(reference, kept, n, search, reason):
    X, y, _, _ = made_up()
    y[:20] = np.nan
    model = PGSRegressor(Ridge(), search=search, reference=reference, random_state=0)
    few = model.fit(X[:360], y[:360], trusted=np.arange(360) >= 360 - n)
    assert few.reference_ == kept
    assert few.model_ is few.reference_model_
    assert few.safeness_.status.startswith(f"Fell back: {reason}")
    assert few.safeness_.status.endswith(f"so this is the reference, trained on {kept} rows.")
    assert str(few.safeness_) == few.safeness_.status  # no set to compare on
    assert few.comparison_.empty
    np.testing.assert_array_equal(few.corrected_labels_[20:], y[20:360])
    np.testing.assert_allclose(few.corrected_labels_[:20], few.predict(X[:20]))  # had no label
    np.testing.assert_array_equal(few.sample_weight_, ~np.isnan(y[:360]))


def test_falls_back_when_the_refit_is_bad(monkeypatch):
    plain = NumberHead.without_held_out
    monkeypatch.setattr(
        NumberHead, "without_held_out", lambda self: replace(found := plain(self), shift=found.shift + 50)
    )
    fitted = numbers_fit()
    assert fitted.model_ is fitted.reference_model_
    assert fitted.safeness_.status.startswith("Fell back: the refit was not better (mean squared error ")
    assert [each.margin for each in fitted.safeness_.sets] == [0.0]
    assert [record["candidate"] for record in fitted.history_] == [*REFERENCES, NEW]
    assert fitted.comparison_.query("model == 'new'")["loss"].mean() > 1000


def test_ones_own_safeness_can_veto():
    X, y, _, _ = made_up()
    X, y, trusted = X[:360], y[:360], np.arange(360) >= 300
    # A few rows whose trusted labels are wrong: the better a model is, the worse it does there.
    odd = trusted & (np.arange(360) % 20 == 3)
    groups, tree = np.where(odd, "odd", "even"), DecisionTreeRegressor(min_samples_leaf=5)
    given = np.where(odd, y + 4, y)
    settings = {"reference": "raw", "random_state": 0}
    free = PGSRegressor(tree, **settings).fit(X, given, trusted=trusted, groups=groups)
    bound = PGSRegressor(tree, safeness=PerGroup(), **settings).fit(X, given, trusted=trusted, groups=groups)
    assert not free.safeness_.fell_back
    assert bound.model_ is bound.references_["raw"]
    assert bound.safeness_.status == (
        "Fell back: the new model was worse on group odd, so this is the reference, trained on raw rows."
    )
    assert [each.name for each in bound.safeness_.sets] == ["held-out rows", "group even", "group odd"]
    assert all(each.margin == 0 and each.new_loss == each.raw_loss for each in bound.safeness_.sets)


def test_the_held_out_rows_are_taken_in_by_the_last_training_only(monkeypatch):
    told, plain = [], EstimatorTrainer.on_correction
    monkeypatch.setattr(
        EstimatorTrainer, "on_correction", lambda self, rows, found: told.append(rows) or plain(self, rows, found)
    )
    fitted = numbers_fit()
    assert not fitted.safeness_.fell_back
    first, last = told
    assert first.tolist() == np.flatnonzero(~fitted.held_out_).tolist()
    assert last.tolist() == list(range(360))
