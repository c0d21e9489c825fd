from types import SimpleNamespace

import numpy as np
import pytest
import torch

from safegain import Boosting, Forest, KernelMachine, PerView, PGSClassifier, PGSRegressor
from safegain.learners.target import Target
from safegain.learners.training_set import TrainingSet
from safegain.search.family_trainer import FamilyTrainer
from safegain.search.predictions import RowsAsTheyAre
from tests.learners.soft_rows import CLASSES, codes, numbers, rows, soft

FAMILIES = [Forest(n_trees=30), Boosting(max_iter=30), KernelMachine(n_landmarks=100)]


def trainer(learner=FAMILIES[0]):
    X, target = soft(100)
    y = target.values.argmax(axis=1)
    return FamilyTrainer(learner, X, CLASSES[y], SimpleNamespace(classes=CLASSES), y, 7), X, target


def test_labels_and_evidence_are_targets():
    work, X, target = trainer()
    some = torch.arange(0, 100, 2)
    found = work.on_labels(some, some[:0])
    wanted = FAMILIES[0].train(X[::2], Target.of_codes(work.codes[::2], CLASSES), 7)
    assert np.array_equal(found.outputs(X), wanted.outputs(X))
    found = work.on_evidence(some, some[:0], SimpleNamespace(Q=torch.from_numpy(target.values)), 0.3)
    wanted = FAMILIES[0].train(X[::2], target.taken(np.arange(0, 100, 2)), 7)
    assert np.array_equal(found.outputs(X), wanted.outputs(X))


def test_numbers_have_weights():
    X, target = numbers(100, weighted=True)
    parts = SimpleNamespace(classes=None, mean=0.0, unit=1.0)
    work = FamilyTrainer(FAMILIES[0], X, target.values, parts, target.values, 7)
    kept = np.arange(10, 90)
    evidence = SimpleNamespace(
        training_set=lambda rows, weighted: TrainingSet(kept, target.values[kept], target.weights[kept])
    )
    found = work.on_evidence(torch.arange(100), torch.arange(0), evidence, 1.0)
    assert np.array_equal(found.predict(X), FAMILIES[0].train(X[kept], target.taken(kept), 7).predict(X))
    assert work.score(found, torch.arange(5), torch.arange(5)).losses == pytest.approx(
        np.square(found.predict(X) - target.values)[:5]
    )


def test_columns_are_filled_in_a_copy():
    X = np.ones((3, 2))
    assert RowsAsTheyAre().filled(X, [1], np.array([5.0, 6.0])).tolist() == [[1, 6]] * 3
    assert X.max() == 1
    assert RowsAsTheyAre().rows(X) is X


@pytest.mark.parametrize("learner", FAMILIES, ids=lambda each: type(each).__name__)
def test_a_family_is_fitted_on_corrected_labels(learner):
    X, fresh = rows(1500), rows(1000, seed=5)
    trusted, random = np.arange(1500) < 300, np.random.default_rng(3)
    wrong = ~trusted & (random.random(1500) < 0.4)
    noisy = CLASSES[np.where(wrong, (codes(X) + 1) % 3, codes(X))]
    model = PGSClassifier(learner, reference="raw", random_state=0).fit(X, noisy, trusted=trusted)
    assert not model.safeness_.fell_back
    assert model.score(fresh, CLASSES[codes(fresh)]) > max(
        0.88, (model.reference_model_.predict(fresh) == CLASSES[codes(fresh)]).mean()
    )
    assert (model.corrected_labels_ == CLASSES[codes(X)]).mean() > 0.85


@pytest.mark.parametrize("learner", FAMILIES, ids=lambda each: type(each).__name__)
def test_a_family_is_fitted_on_numbers(learner):
    X, target = numbers(800)
    fresh, wanted = numbers(500, seed=5)
    trusted = np.arange(800) < 300
    noisy = np.where(trusted | (np.arange(800) % 3 > 0), target.values, target.values + 40)
    model = PGSRegressor(learner, random_state=0).fit(X, noisy, trusted=trusted)
    assert model.score(fresh, wanted.values) > 0.7


def test_gaps_go_to_trees_as_they_are():
    X = rows(600)
    X[::4, 2] = np.nan
    y, trusted = CLASSES[codes(X)], np.arange(600) < 200
    model = PGSClassifier(FAMILIES[0], random_state=0).fit(X, y, trusted=trusted)
    assert model.score(X, y) > 0.9
    for bad, learner, told in ((np.inf, FAMILIES[0], "1 inf"), (np.nan, FAMILIES[2], "1 NaN")):
        Z = rows(600)
        Z[5, 1] = bad
        with pytest.raises(ValueError, match=rf"X: column 1 holds .*{told}"):
            PGSClassifier(learner).fit(Z, y, trusted=trusted)


def test_views_are_compared():
    X = rows(600)
    y, trusted = CLASSES[codes(X)], np.arange(600) < 300
    views = PerView({"first": [0, 1], "rest": [2, 3]})
    model = PGSClassifier(FAMILIES[0], safeness=views, random_state=0).fit(X, y, trusted=trusted)
    names = {each.name for each in model.safeness_.sets}
    assert len(names) == 3
    assert any("rest" in name for name in names)
