"""The contest of several learners: who wins, who may look at what, and what is handed back."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

import safegain.search.class_task as class_task
import safegain.search.contest_road as road
from safegain import Auto, Forest, KernelMachine, Linear, PerClass, PGSClassifier, Several
from safegain.learners.mixture import TrainedMixture
from safegain.search.folds import PARTS, WITNESSES
from tests.search.samples import digits, misled, unseen

SMALL = Forest(n_trees=10)


def fitted(n=480, wrong=0.5, **settings):
    X, noisy, true, trusted = digits(n, 10, wrong)
    model = PGSClassifier(**{"model": [SMALL, Linear(alpha=1e-4)], "random_state": 0} | settings)
    return model.fit(X, noisy, trusted=trusted), X, noisy, true, trusted


@dataclass(frozen=True)
class Spy(Linear):
    """Remembers what it was trained on."""

    seen: list[Any] = field(default_factory=list, compare=False)

    def train(self, X, target, seed):
        self.seen.append((np.array(X), target, seed))
        return super().train(X, target, seed)


def test_a_mixture_on_corrected_labels_beats_the_reference_on_noisy_digits():
    model, _, noisy, true, trusted = fitted(900, wrong=0.6)
    X_new, y_new = unseen(900, 10)
    assert isinstance(model.model_, TrainedMixture)
    assert not model.record_.fell_back
    names = {each.learner for each in model.record_.leaderboard if each.trained_on == model.reference_}
    named = [f"Safe: better than the reference, {name} trained on {model.reference_} rows, with" for name in names]
    assert any(model.safeness_.status.startswith(each) for each in named)
    assert (model.predict(X_new) == y_new).mean() > (model.reference_model_.predict(X_new) == y_new).mean()
    flipped = ~trusted & (noisy != true)
    assert (model.corrected_labels_[flipped] == true[flipped]).mean() > 0.8
    board = model.leaderboard_
    assert list(board.columns) == ["learner", "trained_on", "loss", "mistakes", "share", "seconds"]
    assert board["loss"].is_monotonic_increasing
    assert board["share"].sum() == pytest.approx(1)
    assert set(board["trained_on"]) == {"raw+trusted", "trusted", "corrected"}
    weights = board.loc[board["share"] > 0, "share"].to_list()
    assert sorted(weights) == pytest.approx(sorted(model.model_.weights))


def test_a_copy_of_a_row_that_judges_teaches_nobody(monkeypatch):
    X, noisy, _, trusted = digits(900, 10, 0.5)
    kept = np.flatnonzero(trusted)
    X, noisy, trusted = (np.concatenate([part, part[kept]]) for part in (X, noisy, trusted))
    trusted[900:] = False  # copies of trusted rows, with the right label, among the weak ones
    spy, n_trained = Spy(alpha=1e-4), []
    trainings = road._Road._trained
    monkeypatch.setattr(
        road._Road,
        "_trained",
        lambda self, entry, fold, *rest: n_trained.append(fold) or trainings(self, entry, fold, *rest),
    )
    model = PGSClassifier(spy, random_state=0).fit(X, noisy, trusted=trusted)
    judged = {row.tobytes() for row in X[model.held_out_]}
    assert sum(row.tobytes() in judged for row in X[900:]) == len(judged)
    in_contest = [fold for fold in n_trained if fold.judged.any()]
    assert in_contest
    order = np.concatenate([np.flatnonzero(~trusted), np.flatnonzero(trusted & ~model.held_out_)])
    for fold in in_contest:
        taught = X[order][(fold.weak | fold.trusted)[: len(order)].numpy()]
        assert len(taught) > 500
        assert not any(row.tobytes() in judged for row in taught)


def test_the_same_again_from_the_same_seed():
    first, X, *_ = fitted()
    second, *_ = fitted()
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


def test_misled_evidence_does_not_win(monkeypatch):
    monkeypatch.setattr(class_task, "find_evidence", misled(class_task.find_evidence))
    model, *_ = fitted(wrong=0.1)
    used = model.leaderboard_.query("share > 0")["trained_on"]
    assert "corrected" not in set(used)
    assert model.reference_ in {"raw+trusted", "trusted"}


def test_nothing_better_hands_the_reference_back(monkeypatch):
    monkeypatch.setattr(class_task, "find_evidence", misled(class_task.find_evidence))
    model, X, noisy, _, trusted = fitted(model=[Linear(alpha=1e-4)], reference="raw+trusted", wrong=0.1)
    assert model.record_.fell_back
    assert "nothing was better" in model.safeness_.status
    assert "so this is the reference, Linear(alpha=0.0001) trained on raw+trusted rows." in model.safeness_.status
    alone = Linear(alpha=1e-4).train(X, _target(noisy), 0)
    assert (model.predict(X) == alone.predict(X)).mean() > 0.99  # trained on all rows, as the user would have had it
    np.testing.assert_array_equal(model.corrected_labels_[~trusted], noisy[~trusted])


def _target(codes):
    from safegain.learners.target import Target

    return Target.of_codes(codes, np.arange(10))


@pytest.mark.parametrize("n", [320, 640])  # of 96 trusted rows each quarter judges in turn, of 192 a half does
def test_who_judges_is_no_part_of_training(n):
    spy = Spy()
    model, X, _, _, trusted = fitted(n, model=[spy], reference="raw+trusted")
    judged = set(model.comparison_["row"])
    assert len(judged) == (trusted.sum() if trusted.sum() < 150 else model.held_out_.sum())
    contest = spy.seen[:-2] if model.record_.fell_back is False else spy.seen[:-1]
    for rows, target, _ in contest:
        numbers = _numbers(X, rows)
        here = judged & set(numbers)
        if trusted.sum() < 150:  # in turn: at most the other parts
            assert len(here) <= len(judged) - len(judged) // PARTS
        else:
            assert not here
        assert len(target) == len(rows)
    last = _numbers(X, spy.seen[-1][0])
    assert judged <= set(last)


def _numbers(X, rows):
    place = {row.tobytes(): number for number, row in enumerate(np.asarray(X, dtype=float))}
    return [place[row.tobytes()] for row in np.asarray(rows, dtype=float)]


@pytest.mark.parametrize("n", [320, 640])
def test_what_the_evidence_may_look_at(monkeypatch, n):
    """Labels of all rows that may train; trusted ones of a random sample calibrate it too."""
    asked = []

    def watched(X, known, targets, calibrating, random, graphs, *, sampled, crew, find=class_task.find_evidence):
        assert graphs is None  # few rows have no label
        asked.append((known, targets, calibrating))
        return find(X, known, targets, calibrating, random)

    monkeypatch.setattr(class_task, "find_evidence", watched)
    X, noisy, _, trusted = digits(n, 10)
    noisy = np.where(~trusted & (np.arange(n) % 7 == 0), -1, noisy)
    sample = trusted & (np.arange(n) % 20 > 0)
    model = PGSClassifier([Linear(alpha=1e-4)], random_state=0).fit(X, noisy, trusted=trusted, sample=sample)
    n_trusted, n_sample, n_given = trusted.sum(), sample.sum(), (~trusted & (noisy >= 0)).sum()
    assert len(asked) == (2 if n_sample >= 150 else PARTS + 1)
    n_judged = sum(int((known.trusted & ~targets).sum()) for known, targets, _ in asked)
    assert n_judged == (model.held_out_.sum() if n_sample >= 150 else n_sample)
    for known, targets, calibrating in asked[:-1]:
        assert not (targets & ~known.labelled).any()
        assert not (calibrating & ~(targets & known.trusted)).any()
        assert (targets & known.trusted & ~calibrating).sum() == n_trusted - n_sample
        assert (targets & ~known.trusted).sum() == n_given - int(WITNESSES * n_given)
    if n_sample < 150:  # each part judges once, and calibrates where the others do
        judged = torch.stack([known.trusted & ~targets for known, targets, _ in asked[:-1]])
        assert (judged.sum(dim=0) <= 1).all()
        for (_, _, calibrating), own in zip(asked[:-1], judged, strict=True):
            assert torch.equal(calibrating, judged.any(dim=0) & ~own)
    known, targets, calibrating = asked[-1]
    assert torch.equal(targets, known.labelled)
    assert (calibrating & known.trusted).sum() == calibrating.sum() == n_sample


def test_drafts_compete_and_the_whole_is_handed_over(monkeypatch):
    grown, plain = [], Forest.train
    monkeypatch.setattr(Forest, "train", lambda self, *args: grown.append(self.n_trees) or plain(self, *args))
    fitted(model=[Forest(n_trees=10, min_samples_leaf=1)])
    assert set(grown) == {5, 10}
    assert grown == sorted(grown)  # the last ones are whole


def test_few_trusted_rows_are_of_use():
    X, noisy, _, trusted = digits(400, 10, 0.5)
    few = trusted & (np.cumsum(trusted) <= 30)
    model = PGSClassifier([SMALL, KernelMachine()], random_state=0).fit(
        X[~trusted | few], noisy[~trusted | few], trusted=few[~trusted | few]
    )
    X_new, y_new = unseen(400, 10)
    assert len(model.comparison_["row"].unique()) == 30
    assert (model.predict(X_new) == y_new).mean() >= (model.reference_model_.predict(X_new) == y_new).mean() - 0.02


def test_too_few_trusted_rows_to_compare():
    X, noisy, _, trusted = digits()
    few = trusted & (np.cumsum(trusted) <= 7)
    rows = ~trusted | few
    model = PGSClassifier([Linear(alpha=1e-4), SMALL], random_state=0).fit(X[rows], noisy[rows], trusted=few[rows])
    assert "7 trusted rows are too few" in model.safeness_.status
    assert "so this is the reference, Linear(alpha=0.0001) trained on raw+trusted rows." in model.safeness_.status
    assert model.reference_ == "raw+trusted"
    assert len(model.leaderboard_) == 0


def test_a_part_of_many_rows_screens(monkeypatch):
    monkeypatch.setattr(road, "SCREENED", 100)
    monkeypatch.setattr(road, "FINALISTS", 1)
    monkeypatch.setattr(road, "REFERENCES_LEFT", 1)
    spy = Spy()
    model, *_, trusted = fitted(640, model=[spy, SMALL], wrong=0.5)
    assert len(model.leaderboard_) == 2
    assert (model.leaderboard_["trained_on"] == "corrected").sum() == 1
    sizes = [len(target) for _, target, _ in spy.seen[:3]]
    assert max(sizes) <= 100 + (trusted & ~model.held_out_).sum()


class Scaling(Spy):
    """Gains from all of many rows."""

    scales = True


def test_of_many_rows_learners_that_gain_from_them_are_trained_once(monkeypatch):
    monkeypatch.setattr(road, "MANY", 300)
    spy = Scaling(alpha=1e-4)
    model, X, *_ = fitted(640, model=[spy, SMALL], wrong=0.5)
    board = model.leaderboard_
    assert board["learner"].str.startswith("Scaling(").all()
    assert sorted(board["trained_on"]) == ["corrected", "raw+trusted", "trusted"]
    assert len(spy.seen) == 3  # what the contest has trained is handed over
    judged = set(model.comparison_["row"])
    assert not any(judged & set(_numbers(X, rows)) for rows, _, _ in spy.seen)
    X_new, y_new = unseen(640, 10)
    assert (model.predict(X_new) == y_new).mean() > 0.7


def test_of_many_rows_who_found_the_evidence_is_not_taught_by_it(monkeypatch):
    monkeypatch.setattr(road, "MANY", 300)
    head = Scaling(alpha=1e-4)
    object.__setattr__(head, "is_head", True)
    model, *_ = fitted(640, model=[head, Scaling(alpha=1e-3)], wrong=0.5)
    taught = model.leaderboard_.query("trained_on == 'corrected'")["learner"]
    assert len(taught) == 1
    assert taught.iloc[0].startswith("Scaling(alpha=0.001")


def test_balanced_classes_count_the_same():
    X, noisy, true, trusted = digits(640, 10)
    rare = (true == 0) & (np.arange(len(true)) % 8 > 0)
    kept = ~rare
    plain, balanced = (
        PGSClassifier([SMALL, Linear(alpha=1e-4)], search=Auto(measure=measure), random_state=0).fit(
            X[kept], noisy[kept], trusted=trusted[kept]
        )
        for measure in ("log-loss", "balanced")
    )
    assert "balanced log-loss" in balanced.safeness_.status
    losses = balanced.comparison_.query("model == 'new'")
    y = true[kept][losses["row"]]
    by_class = losses.groupby(y)["loss"].mean().mean()
    margin = balanced.safeness_.sets[0]
    wanted = margin.new_loss if not balanced.record_.fell_back else by_class
    assert wanted == pytest.approx(by_class)
    assert plain.safeness_.sets[0].new_loss != pytest.approx(by_class)


def test_safeness_is_judged_on_rows_of_the_contest():
    model, *_ = fitted(640, safeness=PerClass())
    assert [each.name for each in model.safeness_.sets] == ["held-out rows", *(f"class {k}" for k in range(10))]
    model, *_ = fitted(320, safeness=PerClass())  # in turn
    by_class = {each.name: each for each in model.safeness_.sets[1:]}
    losses = model.comparison_.query("model == 'new'")
    true = digits(320, 10)[2]
    if not model.record_.fell_back:
        for k in range(10):
            own = losses.loc[true[losses["row"]] == k, "loss"].mean()
            assert by_class[f"class {k}"].new_loss == pytest.approx(own, rel=0.05)


def test_a_run_that_goes_on_ends_the_same(tmp_path, monkeypatch):
    plain, X, noisy, _, trusted = fitted()
    seen = []
    enter = road._Road._enter

    def killed(self, entry, evidences):
        seen.append(entry)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return enter(self, entry, evidences)

    monkeypatch.setattr(road._Road, "_enter", killed)
    model = PGSClassifier([SMALL, Linear(alpha=1e-4)], random_state=0, checkpoint=tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, noisy, trusted=trusted)
    monkeypatch.setattr(road._Road, "_enter", enter)
    monkeypatch.setattr(class_task, "find_evidence", lambda *_, **__: pytest.fail("all of it was kept"))
    model.fit(X, noisy, trusted=trusted)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_rows_without_a_label_have_a_distribution():
    X, noisy, true, trusted = digits(480)
    noisy = np.where(~trusted & (np.arange(len(noisy)) % 5 == 0), -1, noisy)
    model = PGSClassifier([SMALL, Linear(alpha=1e-4)], random_state=0).fit(X, noisy, trusted=trusted)
    bare = noisy == -1
    assert (model.corrected_labels_[bare] == true[bare]).mean() > 0.8
    np.testing.assert_allclose(model.label_distribution_.sum(axis=1), 1, atol=1e-5)


def test_a_list_must_not_be_empty():
    with pytest.raises(ValueError, match="list is empty"):
        PGSClassifier([]).fit(np.zeros((20, 2)), np.arange(20) % 2)
    assert Several([KernelMachine()]).variants("raw", 9, classifies=True) == (KernelMachine(),)
