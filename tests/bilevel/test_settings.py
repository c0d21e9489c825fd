"""Settings are checked when they are built, and the message names class, field and value."""

import pytest

from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
from safegain.bilevel.solvers import Descent, Newton
from safegain.bilevel.unrolled import Unrolled
from safegain.bilevel.update_rules import Adam, GradientDescent, Momentum, RMSProp


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Newton(tol=0.0), "Newton: tol must be positive, got 0.0"),
        (lambda: Newton(max_iter=0), "Newton: max_iter must be at least 1, got 0"),
        (lambda: Descent("adam"), r"Descent: rule must be an update rule: GradientDescent\(\).*got 'adam'"),
        (lambda: Descent(n_steps=0), "Descent: n_steps must be at least 1, got 0"),
        (lambda: Descent(batch_size=0), "Descent: batch_size must be at least 1 or None, got 0"),
        (lambda: Descent(memory_budget=-1), "Descent: memory_budget must not be negative, got -1"),
        (lambda: GradientDescent(0.0), "GradientDescent: learning_rate must be positive or None, got 0.0"),
        (lambda: Adam(float("nan")), "Adam: learning_rate must be positive or None, got nan"),
        (lambda: Adam(beta2=1.0), "Adam: beta2 must be at least 0 and below 1, got 1.0"),
        (lambda: Momentum(beta=-0.1), "Momentum: beta must be at least 0 and below 1, got -0.1"),
        (lambda: RMSProp(rho=2.0), "RMSProp: rho must be at least 0 and below 1, got 2.0"),
        (lambda: RMSProp(eps=0.0), "RMSProp: eps must be positive, got 0.0"),
        (lambda: Cholesky(damping=-1.0), "Cholesky: damping must not be negative, got -1.0"),
        (lambda: ConjugateGradient(tol=0.0), "ConjugateGradient: tol must be positive, got 0.0"),
        (lambda: ConjugateGradient(max_iter=0), "ConjugateGradient: max_iter must be at least 1, got 0"),
        (lambda: Neumann(terms=0), "Neumann: terms must be at least 1, got 0"),
        (lambda: Neumann(step=0.0), "Neumann: step must be positive or None, got 0.0"),
        (lambda: Unrolled(last=0), "Unrolled: last must be at least 1 or None, got 0"),
    ],
)
def test_a_setting_that_cannot_be_is_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()
