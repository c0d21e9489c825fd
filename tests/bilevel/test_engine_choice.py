"""Engines by name, for every kind of model and solver."""

from types import SimpleNamespace

import pytest

from safegain.bilevel.engine_choice import ENGINES, MOST_FACTORED, make_engine, walks_back
from safegain.bilevel.implicit import Cholesky, ConjugateGradient, Neumann
from safegain.bilevel.solvers import ClosedForm, Descent, Newton
from safegain.bilevel.unrolled import Unrolled
from tests.problems import make_problem


@pytest.mark.parametrize(
    ("name", "model", "solver", "engine"),
    [
        ("auto", "network", Descent(), Unrolled()),
        ("auto", "linear", ClosedForm(), Cholesky()),
        ("auto", "linear", Newton(1e-5), ConjugateGradient(tol=10 * 1e-5)),
        ("auto", "network", Newton(), Cholesky()),
        ("cg", "linear", ClosedForm(), ConjugateGradient()),
        ("cholesky", "network", Descent(), Cholesky()),
        ("neumann", "network", Descent(), Neumann()),
        ("unrolled", "linear", Descent(), Unrolled()),
        ("truncated", "network", Descent(n_steps=70), Unrolled(last=7)),
        ("truncated", "network", Descent(n_steps=3), Unrolled(last=1)),
        (Neumann(3), "network", Descent(), Neumann(3)),
    ],
)
def test_the_engine_of_a_name(name, model, solver, engine):
    assert make_engine(name, make_problem(model, 3, False).lower.model, solver) == engine


def test_what_does_not_fit_is_refused():
    model = make_problem("network", 3, False).lower.model
    for engine in ("unrolled", "truncated", Unrolled(2)):
        with pytest.raises(ValueError, match=r"engine: .* walk back over the steps of a descent, which Newton is not"):
            make_engine(engine, model, Newton())
    with pytest.raises(ValueError, match=r"engine: takes one of auto, cholesky, cg.*got 'exact'"):
        make_engine("exact", model, Newton())
    large = SimpleNamespace(n_parameters=MOST_FACTORED + 1)
    with pytest.raises(ValueError, match="engine: 'cholesky' would factor a Hessian of 20001 x 20001"):
        make_engine("cholesky", large, Newton())


def test_walking_back_takes_a_descent_and_an_engine_that_does():
    back = {name for name in ENGINES if walks_back(Descent(), name)}
    assert back == {"auto", "unrolled", "truncated"} == {name for name in ENGINES if walks_back("adam", name)}
    assert walks_back("auto", Unrolled(3))
    assert not walks_back("newton", "auto")
    assert not walks_back(Newton(), "auto")
    assert not walks_back(Descent(), Cholesky())
