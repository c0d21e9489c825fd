"""What models say is refused where no test of it would say anything."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from safegain.certificates.answers import kind_of, said_of
from safegain.certificates.bounded_losses import BoundedLoss
from safegain.certificates.claims import Claims
from safegain.certificates.comparison import certify
from safegain.data.any_rows import AnyRows
from tests.certificates.rivals import Says, outcomes

ROWS = np.arange(40)


class Batch:
    """Says of a row what the mean of all rows says."""

    classes_ = np.array([0, 1])

    def __init__(self, only_alone=False):
        self.only_alone = only_alone

    def predict(self, X):
        if self.only_alone and len(X) > 1:
            return (np.asarray(X) % 2).astype(int)
        return (np.asarray(X) > np.mean(X)).astype(int)


@pytest.mark.parametrize("only_alone", [False, True])
def test_predictions_that_depend_on_the_batch_are_refused(only_alone):
    with pytest.raises(ValueError, match="new: what it says of a row depends on the other rows"):
        certify(Batch(only_alone), Says(ROWS % 2), ROWS, ROWS % 2)
    with pytest.raises(ValueError, match="old: what it says of a row depends on the other rows"):
        certify(Says(ROWS % 2), Batch(only_alone), ROWS, ROWS % 2)


@pytest.mark.parametrize(
    "rows", [ROWS, ROWS.tolist(), pd.Series(ROWS), AnyRows.of(ROWS), ROWS[:1]], ids=lambda rows: type(rows).__name__
)
def test_rows_of_any_kind_are_asked_again(rows):
    asked = []

    class Model:
        def predict(self, X):
            found = np.asarray(X.taken() if isinstance(X, AnyRows) else X)
            asked.append(len(found))
            return found

    np.testing.assert_array_equal(said_of(Model(), rows, "predict", "new"), ROWS[: len(rows)])
    assert asked == ([40, 40, 20, 20, 1, 1, 1, 1] if len(rows) > 1 else [1])


@pytest.mark.parametrize("n", [24, 4000])
def test_a_coin_of_the_batch_is_found_though_it_changes_few_rows(n):
    """One row in 25, and another answer in another company: a model that is as good in the mean, and proves nothing."""
    rows, moved = np.arange(n), np.arange(n) % 25 == 3

    class Coin:
        classes_ = np.array([0, 1])

        def predict(self, X):
            coin = np.asarray(X).sum() // 7 % 2
            return np.where(moved[X], coin, np.asarray(X) % 2)

    with pytest.raises(ValueError, match="new: what it says of a row depends on the other rows"):
        said_of(Coin(), rows, "predict", "new")


def test_tensors_and_columns_of_answers_are_taken():
    X = torch.arange(60.0)[:, None]
    model = type("Column", (), {"predict": lambda self, rows: np.asarray(rows) > 5})()
    assert said_of(model, X, "predict", "new").shape == (60,)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_rows_are_asked_again(form):
    X = scipy.sparse.random_array((50, 4), density=0.5, rng=np.random.default_rng(0), format=form)
    model = type("Sums", (), {"predict": lambda self, rows: np.asarray(rows.sum(axis=1)) > 1})()
    assert said_of(model, X, "predict", "new").shape == (50,)


def test_labels_of_another_kind_are_refused():
    """A perfect old model that says '1' must not be beaten by one that says 1."""
    y = ROWS % 2
    with pytest.raises(ValueError, match="y: holds numbers, and the old model says text"):
        certify(Says(y), Says(y.astype(str), classes=("0", "1")), ROWS, y)
    with pytest.raises(ValueError, match="y: holds text, and the new model says numbers"):
        certify(Says(y), Says(y), ROWS, y.astype(str))
    sure = np.eye(2)[y]
    with pytest.raises(ValueError, match="y: holds numbers, and the new model says text"):
        certify(Says(y, sure, classes=("0", "1")), Says(y, sure), ROWS, y, Claims(measures="brier"))


@pytest.mark.parametrize(
    ("y", "called"),
    [
        (ROWS % 2, 2 * (ROWS % 2) - 1),
        (ROWS % 2 == 1, ROWS % 2 + 1),
        (np.where(ROWS % 2, 0.1, 0.2), np.where(ROWS % 2, 0.1, 0.2).astype(np.float32)),
        (np.where(ROWS % 2, "a", "b"), np.where(ROWS % 2, " a", " b")),
    ],
    ids=["sign", "bool", "float32", "space"],
)
def test_a_model_that_calls_the_classes_otherwise_is_refused(y, called):
    """It is perfect, and would lose every row."""
    half = np.where(ROWS % 3, y, y[0])
    with pytest.raises(
        ValueError, match=r"y: the old model says .*, which is no class of these labels nor of the other"
    ):
        certify(Says(half, classes=np.unique(y)), Says(called, classes=np.unique(called)), ROWS, y)


def test_a_new_class_is_a_mistake_where_it_is_rare():
    y = ROWS % 2
    rare = np.where(ROWS == 7, 2, y)
    found = certify(Says(y, classes=(0, 1)), Says(rare, classes=(0, 1, 2)), ROWS, y)
    assert (found.entries[0].won, found.entries[0].lost) == (1, 0)


def test_bytes_are_no_text():
    y = np.array(["a", "b"])[ROWS % 2]
    with pytest.raises(ValueError, match="y: holds text, and the old model says bytes"):
        certify(Says(y, classes=("a", "b")), Says(y.astype("S"), classes=np.array(["a", "b"], "S")), ROWS, y)


def test_minus_one_is_a_missing_label_unless_it_is_a_class():
    y = np.where(ROWS < 5, -1, ROWS % 2)
    with pytest.raises(ValueError, match="y: 40 labels, 5 of them missing; every row needs one"):
        certify(Says(ROWS % 2), Says(ROWS % 2), ROWS, y)
    signs = 2 * (ROWS % 2) - 1
    assert certify(Says(signs, classes=(-1, 1)), Says(-signs, classes=(-1, 1)), ROWS, signs).certified


def test_kinds_of_labels():
    assert (
        kind_of(np.array([True, False])) == kind_of(np.array([1.5])) == kind_of(np.array([1, 2], object)) == "numbers"
    )
    assert kind_of(np.array(["a"])) == kind_of(np.array(["a"], object)) == "text"
    assert kind_of(np.array(["a", 1], object)) == "labels of several kinds (numbers, text)"


def test_a_class_that_a_model_does_not_know_is_a_mistake():
    y = np.array([0, 1, 2] * 20)
    found = certify(Says(y, classes=(0, 1, 2)), Says(np.minimum(y, 1)), np.arange(60), y)
    assert (found.entries[0].won, found.entries[0].lost) == (20, 0)


@pytest.mark.parametrize(
    ("P", "words"),
    [
        (np.full((40, 2), 0.7), "the probabilities of row 0 sum to 1.4"),
        (np.tile([1.5, -0.5], (40, 1)), "a finite share of at least 0"),
        (np.full((40, 2), np.nan), "a finite share of at least 0"),
    ],
)
def test_probabilities_that_are_no_distributions_are_refused(P, words):
    y = ROWS % 2
    with pytest.raises(ValueError, match=words):
        certify(Says(y, P), Says(y, np.eye(2)[y]), ROWS, y, Claims(measures="log_loss"))


def test_a_zero_one_loss_that_is_not_is_refused():
    """By the sign test a loss that is smaller by a hair on most rows, and larger by one on few, would be certified."""
    new, old, X, y = outcomes(30, 10, 100)
    part = BoundedLoss("cost", lambda y, said: np.where(y == said, 0.5, 1.0), 1.0, zero_one=True)
    with pytest.raises(
        ValueError, match="cost is said to be 0 or 1 and nothing between, and the new model has a loss of"
    ):
        certify(new, old, X, y, Claims(measures=part))


@pytest.mark.parametrize("measures", [[], ()])
def test_no_measure_is_refused(measures):
    with pytest.raises(ValueError, match="measures must name one measure or several"):
        Claims(measures=measures)


def test_gaps_in_numbers_are_alike_and_infinity_hides_nothing():
    said = np.where(ROWS % 7 == 0, np.nan, ROWS * 1.0)

    class Fixed:
        def __init__(self, noise):
            self.noise = noise

        def predict(self, X):
            found = said[np.asarray(X)] + self.noise * len(X)
            return np.where(np.asarray(X) == 3, np.inf, found)

    assert said_of(Fixed(0.0), ROWS, "predict", "new").shape == (40,)
    with pytest.raises(ValueError, match="depends on the other rows"):
        said_of(Fixed(0.1), ROWS, "predict", "new")
