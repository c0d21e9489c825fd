"""Searches with an outer loop: the paper's objective and safeness, over one space of weights and labels or another."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from safegain.bilevel.engine import Engine
from safegain.bilevel.engine_choice import ENGINES, make_engine
from safegain.bilevel.losses import CrossEntropy, SquaredError
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.outer_loop import Callback, search
from safegain.bilevel.outer_step import AdamStep, OuterStep, ScaledStep
from safegain.bilevel.problem import Bilevel
from safegain.bilevel.raw_model import raw_point
from safegain.bilevel.safeness import Bootstrap
from safegain.bilevel.search_space import Point, SearchSpace
from safegain.bilevel.selection import Candidate, Selection
from safegain.bilevel.semi_supervised import labelled_part
from safegain.bilevel.settling import settled
from safegain.bilevel.solvers import Solution, Solver
from safegain.data.parts import Masks, Parts
from safegain.data.settings import check, is_number, is_share, is_whole
from safegain.data.storage import IN_MEMORY
from safegain.learners.base import Learner, Setup
from safegain.learners.trained import trained_model
from safegain.search.base import Search, differentiable
from safegain.search.iterates import IterateJudge, iterate_report, ruling, trained_references
from safegain.search.judges import judges
from safegain.search.outcome import Choice, Outcome
from safegain.search.problem import Problem
from safegain.search.references import BEST, NEW

LEAST_TRUSTED = 2
STEPS: dict[str, tuple[type[AdamStep] | type[ScaledStep], float, int]] = {  # with usual rates and numbers of steps
    "adam": (AdamStep, 0.06, 20),
    "scaled": (ScaledStep, 0.3, 8),
}


@dataclass(frozen=True)
class Start:
    """The raw model, and the space that the search leaves from."""

    lower: LowerLevel
    solver: Solver
    engine: Engine
    raw: Solution
    raw_point: Point
    space: SearchSpace
    at_raw: bool  # the space starts at the raw model's own point


@dataclass(frozen=True)
class OuterSearch(Search):
    """The settings that every outer loop has; see `Free`."""

    n_outer: int | None = None
    lr_outer: float | None = None
    outer_step: str | None = None
    engine: str | Engine = "auto"
    penalty: str = "paper"
    penalty_weight: float = 1.0
    eps1: float | None = None
    eps2: float | None = None
    held_out: float = 0.3
    callbacks: tuple[Callback, ...] = ()

    def __post_init__(self) -> None:
        steps = self.n_outer
        check(self, "n_outer", "be a whole number of at least 1, or None", steps is None or is_whole(steps))
        rate = self.lr_outer
        check(self, "lr_outer", "be a positive number or None", rate is None or (is_number(rate) and rate > 0))
        known = self.outer_step is None or self.outer_step in tuple(STEPS)
        check(self, "outer_step", f"be one of {', '.join(STEPS)}, or None", known)
        known = isinstance(self.engine, Engine) or self.engine in ENGINES
        check(self, "engine", f"be an engine or one of {', '.join(ENGINES)}", known)
        check(self, "penalty", "be 'paper' or 'hinge'", self.penalty in ("paper", "hinge"))
        weight = self.penalty_weight
        check(self, "penalty_weight", "be a number of at least 0", is_number(weight) and weight >= 0)
        for name in ("eps1", "eps2"):
            value = getattr(self, name)
            check(self, name, "be a number of at least 0, or None", value is None or (is_number(value) and value >= 0))
        check(self, "held_out", "be a share of at least 0 and below 1", is_share(self.held_out))
        callbacks = self.callbacks
        check(self, "callbacks", "be functions", isinstance(callbacks, list | tuple) and all(map(callable, callbacks)))

    def check_learner(self, learner: Learner, *, classifies: bool, n_processes: int, given: Any = None) -> None:
        differentiable(self, learner, given)
        if classifies and self.eps2 is not None and self.eps2 > 1:
            raise ValueError(f"eps2: is a mean probability of classes, at most 1, got {self.eps2}")

    def masks(self, masks: Masks) -> Masks:
        """Trusted rows are the upper level's; those outside the random sample are weak rows with their right label."""
        return masks.others_weak()

    def check_weight(self, learner: Learner) -> None:
        raise ValueError(
            f"sample_weight: {self.name!r} looks for the weights of the rows itself; leave it out, or use search='auto'"
        )

    @abstractmethod
    def space(self, problem: Problem, start: "Raw", budget: "Budget") -> tuple[SearchSpace, LowerLevel, Point, bool]:
        """The space, the lower level over it, the raw model's point in it, and whether the space starts there."""

    def told(self, point: Point, outputs: Callable[[], Tensor]) -> Point:
        """What is said of the rows in the end; `outputs` are the chosen model's  # (n, k)"""
        return point

    def run(self, problem: Problem) -> Outcome:
        """Search against the model on raw labels; then the best iterate against the reference."""
        parts, random, budget = problem.parts, problem.random, self._budget(problem.parts)
        if len(parts.search) < LEAST_TRUSTED:
            raise ValueError(
                f"sample: leaves {len(parts.search)} trusted rows to search by, and {self.name!r} takes at least "
                f"{LEAST_TRUSTED}; check some rows that are drawn at random"
            )
        setup = differentiable(self, problem.learner).setup(parts)
        theta = setup.model.init(torch.Generator().manual_seed(random.randint(2**31)))
        upper = judges(
            parts,
            setup.model,
            setup.inputs,
            problem.safeness or Bootstrap(),
            random,
            penalty_weight=self.penalty_weight,
            hinge=self.penalty == "hinge",
        )
        start = self._start(problem, setup, theta, budget)
        raw = Candidate(None, start.raw.theta, start.raw_point, upper.losses(start.raw.theta))
        if not torch.isfinite(raw.losses).all():
            found = f"its loss on trusted rows is {float(raw.losses.max())}"
            raise ValueError(
                f"solver: training on the raw labels diverged, {found}; lower its learning_rate, or scale X and y"
            )
        steps, outer_step = self._way(classifies=parts.classes is not None)
        judge = IterateJudge(parts, setup)
        selection = Selection(raw, judge.standing)
        ending = search(
            Bilevel(start.lower, upper, start.space, start.solver, start.engine),
            selection,
            theta=start.raw.theta if start.solver.warm else theta,
            steps=steps,
            outer_step=outer_step,
            first=start.raw if start.at_raw else None,
            callbacks=self._watched(problem, steps),
            checkpoint=problem.checkpoint,
        )
        references = {"raw": start.raw.theta}
        if problem.reference != "raw":
            references |= trained_references(parts, setup, start.lower, start.solver, theta)
            if problem.reference == BEST and parts.trusted_is_one_sided:
                del references["trusted"]  # on trusted rows without some classes, who never says these looks best
        last = ending.theta if selection.best is raw else selection.best.theta
        assert last is not None
        comparison = judge.comparison({**references, NEW: last})
        report = iterate_report(selection, upper, n_held_out=parts.n_held_out, ending=ending.status)
        verdict = ruling(
            selection,
            references,
            upper,
            report,
            reference=problem.reference,
            held_out=parts.held_out is not None,
        )
        models = {name: trained_model(setup, each, parts) for name, each in references.items()}
        base = start.lower.base
        best = reference = Choice.of_point(models[verdict.reference_name], verdict.reference.point, parts, base)
        if verdict.best is not verdict.reference:
            theta = verdict.best.theta
            told = self.told(verdict.best.point, partial(setup.model.all_outputs, theta, start.lower.X))
            best = Choice.of_point(trained_model(setup, theta, parts), told, parts, base)
        return Outcome(
            best, reference, verdict.reference_name, models, verdict.report, comparison, ending.history, ending.n_iter
        )

    def usual_step(self, *, classifies: bool) -> str:
        return "adam"

    def _way(self, *, classifies: bool) -> tuple[int, OuterStep]:
        """How many steps the outer loop takes, and of which kind."""
        kind, rate, steps = STEPS[self.outer_step or self.usual_step(classifies=classifies)]
        return self.n_outer or steps, kind(self.lr_outer or rate)

    def _start(self, problem: Problem, setup: Setup, theta: Tensor, budget: "Budget") -> Start:
        """With a label in every row the search leaves from the raw model's own point."""
        parts, dtype = problem.parts, setup.inputs.dtype
        seed, k, labelled = problem.random.randint(2**31), parts.n_classes, parts.labelled
        lower = LowerLevel(
            setup.model,
            SquaredError() if k is None else CrossEntropy(),
            setup.inputs.rows(parts.weak.X),
            parts.weak.y.to(dtype) if k is None else None,
            setup.alpha,
            parts.ranks,
            self.storage or IN_MEMORY,
        )
        point = raw_point(parts.weak.y, k, dtype)
        every_row = not parts.ranks.count(int((~labelled).sum()))
        part, w, Q = lower, point.w, point.Q
        if not every_row:
            part, w, Q = labelled_part(lower, labelled), w[labelled], Q[labelled]
        solver = settled(setup.solver, part, w, Q, theta, seed=seed)
        engine = make_engine(self.engine, setup.model, solver)
        solution = solver.solve(part, w, Q, start=theta, tail=engine.tail if every_row else 0)
        raw = Raw(lower, setup, solution, point, every_row)
        space, lower, own, at_raw = self.space(problem, raw, budget)
        return Start(lower, solver, engine, solution, own, space, at_raw)

    def _budget(self, parts: Parts) -> "Budget":
        n = parts.ranks.count(len(parts.weak))
        if self.eps1 is not None and self.eps1 > n:
            raise ValueError(f"eps1: the weights of {n} weak rows cannot sum to {self.eps1}; give at most {n}")
        eps1 = 0.1 * n if self.eps1 is None else self.eps1
        if parts.classes is not None:
            return Budget(eps1, 1.0 if self.eps2 is None else self.eps2)
        return Budget(eps1, n**0.5 if self.eps2 is None else self.eps2 / parts.unit)

    def _watched(self, problem: Problem, steps: int) -> tuple[Callback, ...]:
        if (watch := problem.watch) is None:
            return tuple(self.callbacks)

        def tell(record: dict[str, Any], _: Candidate) -> None:
            note = f"loss {record['rank_loss']:.4f}{'' if record['safe'] else ', not safe'}"
            watch(note, record["step"], steps)

        return (*self.callbacks, tell)


@dataclass(frozen=True)
class Budget:
    """The two numbers of the feasible set, in the search's own units."""

    eps1: float
    eps2: float


@dataclass(frozen=True)
class Raw:
    """The model on raw labels, and the lower level of all weak rows."""

    lower: LowerLevel
    setup: Setup
    solution: Solution
    point: Point
    every_row: bool  # has a label

    @property
    def outputs(self) -> Tensor:
        """Of all weak rows  # (n, k)"""
        return self.setup.model.all_outputs(self.solution.theta, self.lower.X)
