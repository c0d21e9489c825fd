"""The iterates of an outer loop: what they are compared on, which one is handed back, and what is said of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import safegain.search.structured
from safegain import Bootstrap, Descent, Free, Linear, Network, Newton, PGSClassifier, PGSRegressor, Structured
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import Candidate, Selection, Standing
from safegain.evidence.pooled import find_evidence
from safegain.learners.trained import trained_model
from safegain.search.contest import SafenessReport, SetMargin
from safegain.search.iterates import IterateJudge, iterate_report, ruling, trained_references
from safegain.search.references import REFERENCES
from tests.search.samples import at_best_temperature, digits, fared, made_up, misled, of_classes


@pytest.mark.parametrize("search", [Free(n_outer=2), Structured(n_outer=2)], ids=["free", "structured"])
@pytest.mark.parametrize("n_trusted", [40, 200])  # none and some of them kept for ranking
def test_searches_compare_their_chosen_iterate(search, n_trusted):
    X, y = (part[:500] for part in load_digits(return_X_y=True))
    trusted = np.arange(500) % 5 < n_trusted / 100
    noisy = np.where(~trusted & (np.random.RandomState(0).rand(500) < 0.6), (y + 3) % 10, y)
    settings = {"search": search, "random_state": 0, "safeness": Bootstrap(1)}
    if n_trusted == 40:
        trusted &= np.cumsum(trusted) <= 40
    for reference in ("raw", "best"):
        fitted = PGSClassifier(Linear(alpha=0.01), reference=reference, **settings).fit(X, noisy, trusted=trusted)
        kept = fitted.held_out_ if n_trusted == 200 else trusted
        assert kept.any()
        expected = fared(X, noisy, np.flatnonzero(kept), fitted.references_)
        found = fitted.comparison_
        pd.testing.assert_frame_equal(found[found["model"] != "new"], expected, check_dtype=False, rtol=1e-3, atol=1e-4)
        assert list(fitted.references_) == (["raw"] if reference == "raw" else list(REFERENCES))
        new = found[found["model"] == "new"]
        assert len(new) == kept.sum()
        if not fitted.safeness_.fell_back:
            mine = fared(X, noisy, np.flatnonzero(kept), {"new": fitted.model_})
            pd.testing.assert_frame_equal(
                new.reset_index(drop=True), mine, check_dtype=False, rtol=1e-3, atol=1e-4, check_index_type=False
            )


def test_a_search_without_a_safe_iterate_shows_its_last_one(monkeypatch):
    X, noisy, _, trusted = digits()
    seen = []
    monkeypatch.setattr(safegain.search.structured, "find_evidence", misled(find_evidence))
    search = Structured(n_outer=2, callbacks=(lambda _, candidate: seen.append(candidate.theta),))
    fitted = PGSClassifier("linear", search=search, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.safeness_.fell_back
    new = fitted.comparison_.query("model == 'new'")["loss"]
    last = replace(fitted.references_["raw"], theta=seen[-1])
    rows = np.flatnonzero(fitted.held_out_)
    np.testing.assert_allclose(new, at_best_temperature(last.predict_proba(X[rows]), noisy[rows]), atol=1e-4)


def test_a_search_that_falls_back_to_its_reference_reports_the_references_losses():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500], y[:500]
    trusted = np.arange(500) < 200
    noisy = np.where(
        ~trusted & (np.arange(500) % 10 != 0), (y + 1) % 10, y
    )  # 9 of 10 wrong: trusted rows alone are best
    fitted = PGSClassifier("linear", search=Free(n_outer=1), random_state=0).fit(X, noisy, trusted=trusted)
    assert fitted.reference_ == "trusted"
    assert fitted.model_ is fitted.reference_model_
    rows = fitted.trusted_ & ~fitted.held_out_
    chances = fitted.predict_proba(X[rows])[np.arange(rows.sum()), y[rows]]
    assert all(each.new_loss < -2 * np.log(chances.min()) for each in fitted.safeness_.sets)
    assert all(np.isclose(each.margin, each.raw_loss - each.new_loss) for each in fitted.safeness_.sets)
    assert min(each.margin for each in fitted.safeness_.sets) > 0  # the trusted rows taught it, and not the raw model


NETWORK = {"model": Network(5, solver=Descent(n_steps=30)), "search": "residuals"}
FREE = {"search": Free(n_outer=2)}


@pytest.mark.parametrize("settings", [NETWORK, FREE])
def test_others_compare_numbers_on_the_rows_held_out(settings):
    X, y, _, _ = made_up(d=3)
    X, y, trusted = X[:360], 7 * y[:360] + 2, np.arange(360) % 4 == 0
    fitted = PGSRegressor(reference="raw", random_state=0, **settings).fit(X, y, trusted=trusted)
    rows = np.flatnonzero(fitted.held_out_)
    found = dict(iter(fitted.comparison_.groupby("model")))
    assert "new" in found
    assert all(part["row"].tolist() == rows.tolist() for part in found.values())
    np.testing.assert_allclose(found["raw"]["loss"], (fitted.references_["raw"].predict(X[rows]) - y[rows]) ** 2)
    if "model" not in settings and not fitted.safeness_.fell_back:
        np.testing.assert_allclose(found["new"]["loss"], (fitted.predict(X[rows]) - y[rows]) ** 2)


def selection_of(*losses, standing, n_safe=0):
    """Of a raw model with the losses (1, 1) and an iterate at step 4 with these."""
    point = Point(torch.ones(1), torch.zeros(1))
    raw = Candidate(None, torch.zeros(1), point, torch.ones(2))
    found = Selection(raw, standing)
    if losses:
        found.best = Candidate(4, torch.ones(1), point, torch.tensor(losses))
    found.n_safe = n_safe
    return found


class Upper:
    """Two validation sets, the second in units of 10."""

    names, units = ("bootstrap 1", "group a"), torch.tensor([1.0, 10.0])

    def losses(self, theta):
        return torch.tensor([0.5, 2.0])


def told(selection, n_held_out=30):
    return iterate_report(selection, Upper(), n_held_out=n_held_out, ending="ran all 5 outer steps")


ANY = {"standing": lambda candidate: Standing(torch.zeros(1), torch.zeros(1), 0.0)}


def test_a_safe_iterate_in_words():
    report = told(selection_of(0.5, 0.75, n_safe=3, **ANY))
    sets = (SetMargin("bootstrap 1", 1.0, 0.5, 0.5), SetMargin("group a", 10.0, 7.5, 2.5))
    assert report == SafenessReport(
        False,
        4,
        sets,
        "Safe: not worse than the raw model on any of 2 validation sets (smallest margin 0.5, bootstrap 1), and up "
        "to one standard error the best on 30 trusted rows that the search did not use, at outer step 4; the search "
        "ran all 5 outer steps. This is a comparison on the rows at hand, not a certificate.",
    )
    assert "the best on the trusted rows, at" in told(selection_of(0.5, 0.75, **ANY), n_held_out=0).status


def test_no_iterate_in_words():
    unsafe, unranked = told(selection_of(**ANY)), told(selection_of(n_safe=3, **ANY))
    assert unsafe.status == (
        "Fell back: no iterate was safe on all 2 validation sets and the trusted rows as a whole, so this is the "
        "reference, trained on raw rows. The search ran all 5 outer steps."
    )
    assert unranked.status == (
        "Fell back: none of the 3 safe iterates ranked better on 30 trusted rows that the search did not use, so this "
        "is the reference, trained on raw rows. The search ran all 5 outer steps."
    )
    assert unsafe.fell_back
    assert unsafe.step is None
    assert [each.margin for each in unsafe.sets] == [0.0, 0.0]


def by_theta(**standings):
    """Standings of the raw model (0), the iterate (1), and the references on trusted rows too (2) or alone (3)."""
    order = [standings[name] for name in ("raw", "iterate", "both", "trusted")]
    return lambda candidate: _standing(*order[int(candidate.theta)])


def _standing(loss, mistakes):
    return Standing(torch.tensor([loss]), torch.tensor([mistakes]), 0.0)


THETAS = {"raw": torch.zeros(1), "raw+trusted": torch.full((1,), 2.0), "trusted": torch.full((1,), 3.0)}
USUAL = {"raw": (1.0, 0.5), "iterate": (0.4, 0.2), "both": (0.6, 0.2), "trusted": (0.5, 0.2)}


def ruled(reference="best", held_out=True, losses=(0.5, 0.75), **standings):
    selection = selection_of(*losses, standing=by_theta(**USUAL | standings), n_safe=1)
    report = told(selection)
    references = {"raw": THETAS["raw"]} if reference == "raw" else THETAS
    found = ruling(selection, references, Upper(), report, reference=reference, held_out=held_out)
    return found, selection, report


def test_an_iterate_that_beats_its_reference():
    found, selection, report = ruled()
    assert (found.reference_name, found.best, found.report.fell_back) == ("trusted", selection.best, False)
    assert found.report.status == (f"{report.status} It is also better than the reference, trained on trusted rows.")
    assert found.reference.theta is THETAS["trusted"]
    assert ruled("raw+trusted")[0].reference_name == "raw+trusted"


@pytest.mark.parametrize("standings", [{"iterate": (0.55, 0.2)}, {"iterate": (0.4, 0.3)}], ids=["loss", "mistakes"])
def test_an_iterate_that_does_not(standings):
    found, *_ = ruled(**standings)
    assert found.best is found.reference
    assert found.best.theta is THETAS["trusted"]
    assert found.report.status == (
        "Fell back: step 4 was not better, so this is the reference, trained on trusted rows."
    )
    # The sets compare the raw model with what is handed back.
    assert found.report.sets == (SetMargin("bootstrap 1", 1.0, 0.5, 0.5), SetMargin("group a", 10.0, 20.0, -10.0))


def test_the_raw_model_against_other_references():
    found, *_ = ruled(losses=())
    assert found.report.status == (
        "Fell back: the raw model was not better, so this is the reference, trained on trusted rows."
    )
    found, selection, report = ruled(losses=(), raw=(0.1, 0.1))  # the best of the three is the raw model
    assert (found.best, found.reference, found.report) == (selection.raw, selection.raw, report)


@pytest.mark.parametrize(("reference", "held_out"), [("raw", True), ("raw", False), ("best", False)])
def test_the_raw_model_as_the_reference(reference, held_out):
    found, selection, report = ruled(reference, held_out, iterate=(9.0, 0.9))
    assert (found.reference_name, found.best, found.report) == ("raw", selection.best, report)


def test_without_held_out_rows_nothing_beats_a_reference_that_saw_trusted_rows():
    found, *_ = ruled("trusted", held_out=False)
    assert found.best.theta is THETAS["trusted"]
    assert found.report.fell_back


def test_references_are_trained_on_their_rows():
    X, noisy, _, trusted = digits(200, k=3)
    held, bare = trusted & (np.arange(len(noisy)) % 2 == 0), ~trusted & (np.arange(len(noisy)) % 4 == 1)
    problem = of_classes(X, np.where(bare, -1, noisy), trusted, held, learner=Linear(alpha=0.1))
    parts, setup = problem.parts, problem.learner.setup(problem.parts)
    theta = setup.model.init(torch.Generator())
    lower = LowerLevel(setup.model, CrossEntropy(), setup.inputs.rows(parts.weak.X), None, setup.alpha)
    found = trained_references(parts, setup, lower, Newton(tol=1e-9), theta)
    scaled = (X - setup.inputs.mean.numpy()) / setup.inputs.scale.numpy()
    assert list(found) == ["raw+trusted", "trusted"]
    for name, mask in (("raw+trusted", ~held & ~bare), ("trusted", trusted & ~held)):
        oracle = LogisticRegression(C=1 / (0.1 * mask.sum()), max_iter=3000, tol=1e-8).fit(scaled[mask], noisy[mask])
        model = trained_model(setup, found[name], parts)
        np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(scaled), atol=1e-4)


def test_standings_and_comparison_are_on_the_held_out_rows():
    X, noisy, _, trusted = digits(200, k=3)
    held = trusted & (np.arange(len(noisy)) % 2 == 0)
    for kept, rows in ((held, held), (np.zeros_like(held), trusted)):
        problem = of_classes(X, noisy, trusted, kept, learner=Linear())
        setup = problem.learner.setup(problem.parts)
        judge = IterateJudge(problem.parts, setup)
        theta = torch.linspace(-1, 1, setup.model.n_parameters, dtype=torch.float64)
        model = trained_model(setup, theta, problem.parts)
        standing = judge.standing(Candidate(0, theta, None, None))
        expected = at_best_temperature(model.predict_proba(X[rows]), noisy[rows])
        assert standing.loss == pytest.approx(expected.mean(), abs=1e-4)
        np.testing.assert_array_equal(standing.wrong, model.predict(X[rows]) != noisy[rows])
        p = model.predict_proba(X[trusted])[np.arange(trusted.sum()), noisy[trusted]]
        assert standing.trusted_loss == pytest.approx(-np.log(p).mean())
        compared = judge.comparison({"raw": theta, "new": theta * torch.nan})
        assert list(compared.losses) == list(compared.wrong) == ["raw"]  # what diverged is left out
        order = np.concatenate([np.flatnonzero(trusted & ~kept), np.flatnonzero(kept)])
        np.testing.assert_array_equal(order[compared.rows], np.flatnonzero(rows))
        np.testing.assert_allclose(compared.losses["raw"], expected, atol=1e-4)
