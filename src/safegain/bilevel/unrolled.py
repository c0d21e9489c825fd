"""Algorithm 2: hypergradients along the steps of a descent, by walking them back.

Step t = 1..T is theta_t = Phi_t(theta_{t-1}; w, Q), for gradient descent Eq. (13), with the Jacobians

    A_t = dtheta_t/dtheta_{t-1} = I - eta H_t            Eq. (20)    H_t = d2L_train/dtheta2 at theta_{t-1}
    B_t = dtheta_t/dw = -eta d(dL_train/dtheta)/dw       Eq. (21)    at theta_{t-1}
    C_t = dtheta_t/dQ = -eta d(dL_train/dtheta)/dQ       Eq. (22)    at theta_{t-1}.

Invariant: alpha_t = dL_val/dtheta_t, the multiplier of step t in the Lagrangian of Eq. (14), while g_w and g_Q hold
the terms of the steps after t. Setting Eqs. (16) and (17) to zero and adding up Eqs. (18) and (19), for t = T..1,

    alpha_T = dL_val/dtheta_T                            line 5
    g_w += B_t' alpha_t,    g_Q += C_t' alpha_t          lines 8 and 9
    alpha_{t-1} = A_t' alpha_t                           line 10

and what is left at the end is Eqs. (23) and (24).

The paper slips twice. Eq. (20) has the gradient where the Hessian is meant. And the loop of lines 7 to 11 walks back
steps T..2 and leaves out step 1: every step contributes.
"""

from torch import Tensor

from safegain.bilevel.engine import Engine, Hypergradient
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.solvers import Descent, Solution, Solver
from safegain.data.settings import check, is_whole, setting


@setting
class Unrolled(Engine):
    """Algorithm 2: the exact derivative of the steps that were taken; `last=K` walks back over the last K only."""

    last: int | None = None

    def __post_init__(self) -> None:
        check(self, "last", "be at least 1 or None", self.last is None or is_whole(self.last))

    @property
    def tail(self) -> int | None:  # type: ignore[override]
        return self.last

    def check(self, solver: Solver) -> None:
        if not isinstance(solver, Descent):
            raise ValueError(
                "engine: 'unrolled' and 'truncated' walk back over the steps of a descent, which "
                f"{type(solver).__name__} is not; use Descent, or an implicit engine: 'cholesky', 'cg' or 'neumann'"
            )

    def hypergradient(self, lower: LowerLevel, solution: Solution, w: Tensor, Q: Tensor, v: Tensor) -> Hypergradient:
        """A_t, B_t and C_t are never formed: one scalar has all three products as its derivatives.

        With beta_t the adjoint of the gradient that step t used (-eta alpha_t in gradient descent), the derivatives of
        beta_t . dL_train/dtheta at theta_{t-1} in theta, w and Q are A_t' alpha_t less the rule's own part (alpha_t),
        B_t' alpha_t and C_t' alpha_t. A rule with a state (momentum) has an adjoint of its state beside alpha_t.
        """
        trajectory = solution.trajectory
        assert trajectory is not None
        g_w, g_Q = lower.storage.zeros_like(w), lower.storage.zeros_like(Q)
        alpha, state_adjoint = v, trajectory.rule.init(v)
        for step in trajectory.steps_backwards(lower, w, Q):  # step.t = t - 1: it counts from 0
            alpha, state_adjoint, beta = trajectory.rule.reverse(alpha, state_adjoint, step.state, step.g, step.t + 1)
            batch = trajectory.batches.at(step.t)
            H_beta, B_alpha, C_alpha = lower.reverse(step.theta, w, Q, beta, batch)
            if batch.rows is None:
                g_w += B_alpha
                g_Q += C_alpha
            else:  # the rows of the batch alone have a part in step t
                g_w.index_add_(0, batch.rows, B_alpha)
                g_Q.index_add_(0, batch.rows, C_alpha)
            alpha = alpha + H_beta  # A_t' alpha_t
        return Hypergradient(g_w, g_Q)
