"""The paper's search, as experiments and benchmarks call it: all weights and labels free, the raw model as reference.

`free_network` is the printed form: gradient descent below, Adam above.

One function for each kind of model. An argument that is None is left to the library's default.
"""

from collections.abc import Callable, Sequence
from typing import Any


def free_network(
    seed: int | None = None,
    *,
    n_steps: int | None = None,
    rate: float | None = None,
    n_outer: int | None = None,
    lr_outer: float | None = None,
    held_out: float | None = None,
    callbacks: Sequence[Callable[..., None]] | None = None,
) -> Any:
    """A two-layer network, trained by `n_steps` of descent; `held_out` is the share of trusted rows that judge."""
    from safegain import Descent, Free, GradientDescent, Network, PGSClassifier

    solver = Descent(GradientDescent(rate), **_given(n_steps=n_steps))
    settings = _given(n_outer=n_outer, lr_outer=lr_outer, held_out=held_out, callbacks=callbacks)
    search = Free(outer_step="adam", semi_supervised=True, **settings)
    return PGSClassifier(Network(solver=solver), search=search, reference="raw", random_state=seed)


def free_softmax(
    seed: int | None = None, *, alpha: float | None = None, tol: float | None = None, n_outer: int | None = None
) -> Any:
    """Softmax regression, solved by Newton's method until no entry of the gradient is above `tol`."""
    from safegain import Free, Linear, Newton, PGSClassifier

    learner = Linear(**_given(alpha=alpha), solver=Newton(**_given(tol=tol)))
    search = Free(semi_supervised=True, **_given(n_outer=n_outer))
    return PGSClassifier(learner, search=search, reference="raw", random_state=seed)


def free_ridge(seed: int | None = None, *, n_outer: int | None = None) -> Any:
    """Ridge regression, solved in closed form."""
    from safegain import Free, PGSRegressor

    search = Free(semi_supervised=True, **_given(n_outer=n_outer))
    return PGSRegressor("linear", search=search, reference="raw", random_state=seed)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
