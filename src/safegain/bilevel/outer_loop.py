"""The outer loop of Algorithms 1 and 2, written once: solve the lower level, look at the trusted rows, step, project.

    theta    from (w, Q)              Solver          Algorithm 2, lines 2 to 4
    v        dL_val/dtheta            UpperLevel      Algorithm 1, line 2; Algorithm 2, line 5
    g        dL_val/d(w, Q)           Engine          line 3; lines 6 to 11
    (w, Q)   one step                 OuterStep       lines 4 and 5; lines 12 and 13
    (w, Q)   projected on Lambda      SearchSpace     line 6; line 14

`Selection` decides which iterate is kept (the paper keeps the last); callbacks watch and may ask to stop.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from safegain.bilevel.linear_algebra import IndefiniteHessian
from safegain.bilevel.outer_step import OuterStep
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.search_space import Parameters, Point, SearchSpace
from safegain.bilevel.selection import Candidate, Selection
from safegain.bilevel.solvers import Solution
from safegain.bilevel.update_rules import State
from safegain.data.checkpoint import Checkpoint, Saved

Record = dict[str, Any]
Callback = Callable[[Record, Candidate], Any]  # what was measured, and the iterate itself


@dataclass(frozen=True)
class Ending:
    """How a search ended: what it measured at each step, and why it stopped."""

    history: list[Record]
    n_iter: int
    status: str
    theta: Tensor | None = None  # of the last iterate


@dataclass
class _Loop:
    """What one outer step leaves to the next."""

    parameters: Parameters
    states: list[State]  # moments, which are updated in their place
    theta: Tensor  # where the solver starts
    history: list[Record]

    def saved(self, selection: Selection, space: SearchSpace) -> Saved:
        own = {f"parameter.{i}": p for i, p in enumerate(self.parameters)}
        own |= {f"moment.{i}.{j}": m for i, state in enumerate(self.states) for j, m in enumerate(state)}
        best = selection.best
        by_row = {"best.w": best.point.w, "best.Q": best.point.Q, **(own if space.by_row else {})}
        shared = {"theta": self.theta, "best.theta": best.theta, "best.losses": best.losses, "least": selection.least}
        facts = {
            "history": self.history,
            "best": None if best is selection.raw else best.step,
            "n_safe": selection.n_safe,
        }
        return Saved(by_row, shared if space.by_row else shared | own, facts)

    def restore(self, checkpoint: Checkpoint, selection: Selection, space: SearchSpace) -> None:
        """Take over what a killed run had reached, if there is such a thing."""
        like = self.saved(selection, space).by_row
        if (saved := checkpoint.load(like)) is None:
            return
        tensors, facts = {**saved.by_row, **saved.shared}, saved.facts
        for i, (parameter, state) in enumerate(zip(self.parameters, self.states, strict=True)):
            parameter.copy_(tensors.pop(f"parameter.{i}"))  # into the memory, or the files, that they have
            for j, moment in enumerate(state):
                moment.copy_(tensors.pop(f"moment.{i}.{j}"))
        self.theta, self.history = tensors["theta"], facts["history"]
        selection.least, selection.n_safe = tensors["least"], facts["n_safe"]
        if facts["best"] is not None:
            point = Point(tensors["best.w"], tensors["best.Q"])
            selection.best = Candidate(facts["best"], tensors["best.theta"], point, tensors["best.losses"])


def search(
    problem: Bilevel,
    selection: Selection,
    *,
    theta: Tensor,
    steps: int,
    outer_step: OuterStep,
    first: Solution | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
) -> Ending:
    """Run `steps` outer steps and offer every iterate, the last one included, to the selection.

    `theta` is where the solver starts. `first` is the solution at the start of the space, if it is known.
    A hypergradient is of the order 1/n in each row; the outer step sees it times n, as the derivative per row. A
    checkpoint is written after every step, once the callbacks have seen it.
    """
    lower, space, solver = problem.lower, problem.space, problem.solver
    parameters = space.start()
    moments = [tuple(lower.storage.zeros_like(p) for _ in range(outer_step.n_state)) for p in parameters]
    loop = _Loop(parameters, moments, theta, [])
    if checkpoint is not None:
        loop.restore(checkpoint, selection, space)
    last = theta
    began = time.perf_counter() - (loop.history[-1]["seconds"] if loop.history else 0.0)
    for step in range(len(loop.history), steps + 1):
        point = space.point(loop.parameters)
        solution = first if step == 0 and first is not None else None
        if solution is None:
            tail = problem.engine.tail if step < steps else 0
            solution = solver.redrawn(step).solve(lower, point.w, point.Q, start=loop.theta, tail=tail)
        last = solution.theta
        candidate = Candidate(step, solution.theta, point, problem.upper.losses(solution.theta))
        record = _record(problem, selection, candidate) | selection.consider(candidate) | solution.report
        finite = bool(torch.isfinite(candidate.losses).all())
        stop = "" if finite else "the solver diverged; lower the learning_rate of its rule"
        if step < steps and not stop:
            try:
                slopes, report = _slopes(problem, loop.parameters, solution, point, selection.raw.losses)
            except IndefiniteHessian as error:
                if step == 0:
                    raise  # nothing is lost yet, and no later step would fare better
                stop = str(error)
            else:
                record |= report
                if lower.ranks.count(sum(not (math.isfinite(g.sum()) or torch.isfinite(g).all()) for g in slopes)):
                    stop = "the hypergradient is not finite"
        loop.theta = solution.theta if solver.warm else loop.theta
        record["seconds"] = time.perf_counter() - began
        loop.history.append(record)
        wishes = [callback(record, candidate) for callback in callbacks]  # every callback sees every record
        if stop or lower.ranks.count(any(wishes)):
            why = f"stopped at outer step {step}: {stop or 'a callback asked for it'}"
            return Ending(loop.history, step, why, last)
        if step < steps:
            # The iterate belongs to whoever has kept it. Only if nobody has is its memory free for the next one.
            del candidate, point
            moves = zip(loop.parameters, loop.states, slopes, strict=True)
            moved = tuple(
                outer_step.move(p, state, g.contiguous(), scale=lower.n_rows, t=step + 1, ranks=lower.ranks)
                for p, state, g in moves
            )
            del slopes
            loop.parameters = space.project(moved)
            if checkpoint is not None:
                checkpoint.save(step, loop.saved(selection, space))
    return Ending(loop.history, steps, f"ran all {steps} outer steps", last)


def _record(problem: Bilevel, selection: Selection, candidate: Candidate) -> Record:
    """What is measured of an iterate, in the user's units."""
    upper, losses, raw = problem.upper, candidate.losses, selection.raw.losses
    return {
        "step": candidate.step,
        "objective": float(upper.objective(losses * upper.units, raw * upper.units)),
        "margins": dict(zip(upper.names, ((raw - losses) * upper.units).tolist(), strict=True)),
        "violation": problem.space.violation(candidate.point),
    }


def _slopes(
    problem: Bilevel, parameters: Parameters, solution: Solution, point: Point, raw: Tensor
) -> tuple[Parameters, dict[str, float]]:
    """dL_val/d(parameters), and what the engine says of it: lines 2 and 3 of Algorithm 1, 5 to 11 of Algorithm 2."""
    v = problem.upper.gradient(solution.theta, raw)
    gradient = problem.engine.hypergradient(problem.lower, solution, point.w, point.Q, v)
    return problem.space.pull(parameters, gradient.w, gradient.Q), gradient.report
