"""A problem is all that a search is given: the same one has the same outcome, whoever states it."""

import numpy as np
import torch

from safegain import Auto, Free, Linear, PGSClassifier
from safegain.search.problem import Problem
from tests.search.samples import digits


def test_an_estimator_states_the_problem_and_hands_over_the_outcome(monkeypatch):
    X, noisy, _, trusted = digits(k=3)
    for search in (Auto(held_out=0.4), Free(n_outer=1, held_out=0.4)):
        stated, outcomes, plain = [], [], type(search).run

        def run(self, problem, stated=stated, outcomes=outcomes, plain=plain):
            stated.append(problem)
            outcomes.append(plain(self, problem))
            return outcomes[0]

        with monkeypatch.context() as patch:
            patch.setattr(type(search), "run", run)
            fitted = PGSClassifier(Linear(alpha=0.1), search=search, reference="raw", random_state=0)
            fitted.fit(X, noisy, trusted=trusted)
        ((problem,), (outcome,)) = stated, outcomes
        assert isinstance(problem, Problem)
        assert (problem.learner, problem.reference, problem.safeness) == (Linear(alpha=0.1), "raw", None)
        assert (problem.checkpoint, problem.watch) == (None, None)
        np.testing.assert_array_equal(problem.parts.weak.y, noisy[~trusted])
        np.testing.assert_array_equal(problem.parts.held_out.X, X[fitted.held_out_])
        np.testing.assert_array_equal(problem.parts.search.X, X[trusted & ~fitted.held_out_])
        assert fitted.model_ is outcome.best.model
        assert fitted.references_ == outcome.references
        assert fitted.safeness_ is outcome.safeness
        assert torch.equal(fitted.reference_model_.theta, outcome.reference.model.theta)
