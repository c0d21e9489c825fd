"""Corrected labels are what a correcting classifier trains on."""

from safegain.baselines.correction import CorrectingClassifier
from safegain.baselines.neighbour import NearestNeighbour
from safegain.learners.recipe import Recipe
from tests.baselines.samples import digits


def test_what_is_trained_on_are_the_corrected_labels():
    X, y, true, trusted = digits(1000)
    model = NearestNeighbour(n_hidden=32, recipe=Recipe(n_steps=200), random_state=0).fit(X, y, trusted=trusted)
    assert isinstance(model, CorrectingClassifier)
    weak = ~trusted
    assert (model.predict(X) == model.corrected_labels_)[weak].mean() > (model.predict(X) == y)[weak].mean() + 0.25
    assert (model.predict(X) == true)[weak].mean() > 0.85
