"""The default where each process has some of the rows: what one process with all of them finds."""

import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression

import safegain.estimators.base
from safegain import Linear, PGSClassifier, PGSRegressor
from safegain.data.ranks import ALONE
from safegain.evidence import number_evidence, pooled
from safegain.search import contest_road, learned_rows, material, number_task, task
from tests.search.samples import digits, made_up
from tests.thread_ranks import in_threads

UNEVEN = [slice(0, 150), slice(150, 150), slice(150, None)]  # the second has nothing
LEARNERS = [Linear(alpha=1e-3), Linear(alpha=1e-2)]
pytestmark = pytest.mark.usefixtures("quick_evidence")


@pytest.fixture
def on_ranks(monkeypatch):
    """fit(rows) of each rank, which are threads, and at last of one process with all rows."""
    here = threading.local()
    monkeypatch.setattr(safegain.estimators.base, "current_ranks", lambda: getattr(here, "ranks", ALONE))

    def found(fit, cuts):
        def on(ranks):
            here.ranks = ranks
            return fit(cuts[ranks.rank])

        return in_threads(len(cuts), on)

    return found


def whole(parts, name):
    return np.concatenate([getattr(each, name) for each in parts])


def the_same(parts, alone, *names):
    for name in ("sample_weight_", "corrected_labels_", "held_out_", "set_aside_", *names):
        np.testing.assert_array_equal(whole(parts, name), getattr(alone, name), name)
    for each in parts:
        assert each.safeness_.status == alone.safeness_.status
        assert str(each.certificate_) == str(alone.certificate_)
        pd.testing.assert_frame_equal(each.comparison_, alone.comparison_, rtol=1e-5)
        seconds = ["seconds"]
        pd.testing.assert_frame_equal(*(fit.leaderboard_.drop(columns=seconds) for fit in (each, alone)), rtol=1e-5)


def test_classes_with_weights_groups_and_a_certificate(on_ranks):
    X, noisy, _, trusted = digits(500, 10)
    weight, groups = np.linspace(1, 2, len(noisy)), np.arange(len(noisy)) % 2

    def fit(rows):
        said = {"trusted": trusted[rows], "groups": groups[rows], "sample_weight": weight[rows]}
        return PGSClassifier(LEARNERS, certificate=0.1, random_state=0).fit(X[rows], noisy[rows], **said)

    parts, alone = on_ranks(fit, UNEVEN), fit(slice(None))
    the_same(parts, alone, "label_distribution_")
    for each in parts:
        np.testing.assert_array_equal(each.predict_proba(X), alone.predict_proba(X))


def test_numbers_of_which_some_are_missing(on_ranks):
    X, y, _, _ = made_up(missing=0.2)
    X, y = X[:360], y[:360]
    trusted = np.arange(len(y)) >= 300
    parts = on_ranks(lambda rows: _numbers(X, y, trusted, rows), UNEVEN)
    alone = _numbers(X, y, trusted, slice(None))
    the_same(parts, alone, "label_shift_")
    first = UNEVEN[2].start
    issues = alone.label_issues()
    shown = pd.concat(
        [
            each.label_issues().assign(row=lambda t, at=at: t.row + at)
            for each, at in zip(parts, (0, 150, first), strict=True)
        ]
    )
    assert sorted(shown.row) == sorted(issues.row)


def _numbers(X, y, trusted, rows):
    return PGSRegressor(["linear", "huber"], random_state=0).fit(X[rows], y[rows], trusted=trusted[rows])


@pytest.mark.parametrize("classifies", [True, False])
def test_of_many_rows_the_halves_of_the_evidence_are_shared(on_ranks, monkeypatch, classifies):
    for module in (contest_road, pooled, number_evidence, number_task):
        monkeypatch.setattr(module, "MANY", 200)
    if classifies:
        X, y, _, trusted = digits(400, 3)
    else:
        X, y, _, _ = made_up()
        X, y, trusted = X[:360], y[:360], np.arange(360) >= 200

    def fit(rows):
        kind = PGSClassifier if classifies else PGSRegressor
        return kind("linear", random_state=0).fit(X[rows], y[rows], trusted=trusted[rows])

    cuts = [slice(0, 90), slice(90, None)]
    parts, alone = on_ranks(fit, cuts), fit(slice(None))
    the_same(parts, alone)


@pytest.mark.parametrize("classifies", [True, False])
def test_more_rows_than_are_learned_from(on_ranks, monkeypatch, classifies):
    monkeypatch.setattr(learned_rows, "MOST_ROWS", 300)
    monkeypatch.setattr(material, "LEAST_ROWS", 100)
    read_off, asked = task.read_off, []
    monkeypatch.setattr(task, "read_off", lambda *given: asked.append(len(given[1])) or read_off(*given))
    if classifies:
        X, y, _, trusted = digits(600, 3)
        y = np.where(trusted | (np.arange(len(y)) % 20 > 0), y, -1)
    else:
        X, y, _, _ = made_up(500, 100, missing=0.1)
        X, y, trusted = X[:600], y[:600], np.arange(600) >= 500

    def fit(rows):
        kind = PGSClassifier if classifies else PGSRegressor
        return kind("linear", random_state=0).fit(X[rows], y[rows], trusted=trusted[rows])

    the_same(on_ranks(fit, UNEVEN), fit(slice(None)))
    assert len(asked) == 4
    assert sum(sorted(asked)[:3]) == max(asked) > 300


def test_rows_of_a_frame_for_an_estimator_of_the_user(on_ranks):
    X, noisy, _, trusted = digits(320, 3)
    frame = pd.DataFrame(X / 16, columns=[f"p{i}" for i in range(X.shape[1])])

    def fit(rows):
        model = PGSClassifier(LogisticRegression(max_iter=20, C=0.01), random_state=0)
        return model.fit(frame.iloc[rows], noisy[rows], trusted=trusted[rows])

    parts, alone = on_ranks(fit, UNEVEN), fit(slice(None))
    the_same(parts, alone)
    assert (parts[1].predict(frame) == alone.predict(frame)).all()


def test_sparse_rows(on_ranks):
    X, noisy, _, trusted = digits(320, 3)
    sparse = scipy.sparse.csr_array(X)

    def fit(rows):
        return PGSClassifier("linear", random_state=0).fit(sparse[rows], noisy[rows], trusted=trusted[rows])

    the_same(on_ranks(fit, UNEVEN), fit(slice(None)))


def test_trusted_rows_and_classes_may_all_be_elsewhere(on_ranks):
    """Rows in the order of their classes, trusted ones first: the second process has neither of them all."""
    X, noisy, _, trusted = digits(320, 3)
    order = np.lexsort([noisy, ~trusted])
    X, noisy, trusted = X[order], noisy[order], trusted[order]
    cut = int(trusted.sum()) + 40
    cuts = [slice(0, cut), slice(cut, None)]
    assert not trusted[cuts[1]].any()
    assert len(np.unique(noisy[cuts[0]])) == 3

    def fit(rows):
        return PGSClassifier("linear", random_state=0).fit(X[rows], noisy[rows], trusted=trusted[rows])

    parts = on_ranks(fit, cuts)
    the_same(parts, fit(slice(None)))
    assert parts[1].classes_.tolist() == [0, 1, 2]


X, NOISY, _, TRUSTED = digits(100, 3)
FRAME = pd.DataFrame(X[:, :5], columns=list("abcde"))


@pytest.mark.parametrize(
    ("rank_1", "words"),
    [
        ({"X": FRAME[list("abdce")]}, "process 0 and process 1 have different columns.*column 2 is 'c' and 'd'"),
        ({"X": FRAME.rename(columns={"e": "f"})}, "column 4 is 'e' and 'f'"),
        ({"X": FRAME[list("abcd")]}, r"shape \(5,\) in process 0 and \(4,\) in process 1"),
        ({"X": FRAME.to_numpy()}, "one has names of columns and the other none"),
        ({"X": FRAME.assign(a=np.r_[np.nan, X[1:, 0]])}, "column 'a' holds 1 NaN"),
        ({"y": NOISY[:50]}, "50 labels and X has 100 rows"),
        ({"y": NOISY + 0.5}, "Use PGSRegressor for numbers"),
        ({"trusted": TRUSTED[:9]}, "the mask has 9 entries"),
        ({"sample_weight": -np.ones(100)}, "sample_weight: row 0 has -1.0"),
    ],
)
def test_what_is_wrong_in_one_process_is_told_by_all(on_ranks, rank_1, words):
    usual = {"X": FRAME, "y": NOISY, "trusted": TRUSTED, "sample_weight": np.ones(100)}

    def fit(said):
        with pytest.raises(ValueError, match=words) as caught:
            PGSClassifier("linear").fit(**said)
        return str(caught.value)

    ours, theirs = on_ranks(fit, [usual, usual | rank_1])
    assert ours.removeprefix("rank 1 of 2: ") == theirs
