"""The default search for classes: a posterior with few unknowns, a refit, and a comparison with the references.

    references  the model on the weak labels, on weak and trusted labels, on trusted labels alone
    evidence    class probabilities of all rows by the others, and the noise's matrix (evidence.py)
    refit       the model on the posterior of the weak rows, together with the trusted rows
    comparison  on held-out trusted rows: the evidence has not used them, and trainings only to stop on

Where the refit wins, it is done once more with the held-out rows: evidence calibrated on them, the model trained on all
rows. Where it does not, the reference itself is handed back.
"""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.measures import calibrated_log_loss, calibrated_log_losses
from safegain.bilevel.models import TwoLayer
from safegain.bilevel.outer_loop import Ending, Record
from safegain.bilevel.raw_model import one_hot_labels
from safegain.bilevel.safeness import Safeness
from safegain.bilevel.search_space import Point
from safegain.bilevel.selection import Candidate, SafenessReport, SetMargin
from safegain.bilevel.upper import UpperLevel
from safegain.data.checkpoint import Checkpoint
from safegain.data.inputs import Rows, join_rows
from safegain.data.splits import ENOUGH, hold_out
from safegain.data.stages import Stages, Watch
from safegain.evidence.classes import Basis, Evidence, Features, Known, choose_basis, find_evidence
from safegain.learners.configure import make_solver
from safegain.learners.recipe import Recipe
from safegain.learners.trainers import RecipeTrainer, SolverTrainer, Trainer
from safegain.search.training import Compared, Data, Outcome, Settings, streams, upper_level

REFERENCES = ("raw", "raw+trusted", "trusted")
STRUCTURED = "structured"
LATER_STAGES = ("kernel", "evidence", "refit", "last-evidence", "last-refit")  # after the references
SHARE = 0.3  # of the evidence in class probabilities, before the held-out rows are asked
CHANCE = 2.0  # standard errors by which the refit may seem worse than a reference that was chosen on the same rows


@dataclass(frozen=True)
class Standing:
    """One model on the held-out rows."""

    losses: Tensor  # (n_held,) log-losses at the best temperature
    wrong: Tensor  # (n_held,) bool

    @classmethod
    def of(cls, z: Tensor, y: Tensor) -> "Standing":
        return cls(calibrated_log_losses(z, y), z.argmax(dim=1) != y)

    @classmethod
    def of_nobody(cls) -> "Standing":
        return cls(torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.bool))

    @property
    def loss(self) -> float:
        return float(self.losses.mean())

    def gives_way_to(self, other: "Standing") -> bool:
        """The other is not worse here beyond chance, in log-loss or in mistakes.

        Log-loss at the best temperature takes every row into account and does not mind how sure a model is. A reference
        is the best of three on these very rows, so that it looks better than it is: docs/decisions/0008.
        """
        return all(
            float(more.mean()) <= CHANCE * float(more.std()) / len(more) ** 0.5
            for more in (other.losses - self.losses, other.wrong.double() - self.wrong.double())
        )


def auto_classification(
    data: Data,
    settings: Settings,
    *,
    recipe: Recipe | None,
    reference: str,
    safeness: Safeness | None,
    random: np.random.RandomState,
    checkpoint: Checkpoint | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """`recipe` trains the two-layer network; None means that the solver of the settings trains the model."""
    began = time.perf_counter()
    generator = torch.Generator().manual_seed(random.randint(2**31))
    rivals = REFERENCES if reference == "best" else (reference,)
    trained = tuple(dict.fromkeys(("raw", *rivals)))
    stages = Stages(len(trained) + len(LATER_STAGES), random, generator, checkpoint, watch)
    known, search, held = _known(data)
    enough = min(held.sum(), search.sum()) >= ENOUGH
    # Before anything is learned: the definition may ask for what the rows do not have.
    upper = _judges(data, settings, safeness, random) if safeness is not None and enough else None
    parts_of_X = [data.X, data.X_search, *([] if data.X_rank is None else [data.X_rank])]
    X = join_rows(parts_of_X, streamed=streams(len(known.y), recipe is not None or settings.inputs.linear))
    trainer = _trainer(X, known, settings, recipe, random, generator)
    weak = known.labelled & ~known.trusted
    parts = {"raw": weak, "raw+trusted": weak | search, "trusted": search}
    thetas = {
        name: stages.tensor(name, partial(trainer.on_labels, _numbers(parts[name]), _numbers(held))) for name in trained
    }
    if not enough:
        kept = "raw+trusted" if reference == "best" else reference
        few = f"{int(known.trusted.sum())} trusted rows are too few to compare models on some of them"
        report = SafenessReport(True, None, (), f"Fell back: {few}, so this is the reference, trained on {kept} rows.")
        return _outcome(data, known, trainer, thetas, kept, None, report, [], {"raw": Standing.of_nobody()})

    calibrating = _half(search, known, random)
    targets = known.labelled & ~held & ~calibrating
    basis = stages.tensors("kernel", lambda: choose_basis(X, known, targets, calibrating, random).tensors)
    features = Features(X, Basis.from_tensors(basis))

    def evidence_of(name: str, targets: Tensor, calibrating: Tensor) -> Evidence:
        found = stages.tensors(name, lambda: find_evidence(features, known, targets, calibrating).tensors)
        return Evidence.from_tensors(found)

    def refit(name: str, rows: Tensor, stop_on: Tensor, evidence: Evidence, share: float) -> Tensor:
        return stages.tensor(name, lambda: trainer.on_evidence(rows, stop_on, evidence, share))

    evidence = evidence_of("evidence", targets, calibrating)
    thetas[STRUCTURED] = refit("refit", _numbers(~held), _numbers(held), evidence, SHARE)

    y, outputs = known.y[held], {name: trainer.outputs(theta, _numbers(held)) for name, theta in thetas.items()}
    standings = {name: Standing.of(z, y) for name, z in outputs.items()}
    kept = min(rivals, key=lambda name: standings[name].loss)
    margins = [] if upper is None else _margins(upper, thetas[kept], thetas[STRUCTURED])
    wins = standings[kept].gives_way_to(standings[STRUCTURED]) and all(margin.margin >= 0 for margin in margins)
    history: list[Record] = [
        {"candidate": name, "rank_loss": s.loss, "mistakes": float(s.wrong.double().mean())}
        for name, s in standings.items()
    ]
    report = _report(standings, kept, margins, wins=wins)
    if not wins:
        return _outcome(data, known, trainer, thetas, kept, None, report, history, standings)
    share = best_share(evidence.log_p[held], outputs[STRUCTURED].log_softmax(dim=1), y)
    del evidence  # two of them are a lot, for many rows and classes
    evidence = evidence_of("last-evidence", known.labelled & ~held, held)
    everything, none = torch.arange(len(known.y)), torch.tensor([], dtype=torch.int64)
    thetas[STRUCTURED] = refit("last-refit", everything, none, evidence, share)
    history.append({"candidate": STRUCTURED, "share": share, "seconds": time.perf_counter() - began})
    return _outcome(data, known, trainer, thetas, kept, evidence.Q, report, history, standings)


def best_share(log_p: Tensor, own: Tensor, y: Tensor) -> float:
    """Of p in the mixture own^(1 - share) p^share with the least log-loss, at its best temperature, on these rows."""

    def loss(share: float) -> float:
        return calibrated_log_loss((1 - share) * own + share * log_p.to(own.dtype), y)

    return float(minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 0.01}).x)


def _known(data: Data) -> tuple[Known, Tensor, Tensor]:
    """Labels of the weak rows, the search rows and the ranking rows, in this order; masks of the latter two."""
    parts = [data.y, data.y_search, *([] if data.y_rank is None else [data.y_rank])]
    assert data.classes is not None
    ends = np.cumsum([len(part) for part in parts])
    numbers = torch.arange(ends[-1])
    known = Known(torch.cat(parts), numbers >= ends[0], len(data.classes))
    return known, (numbers >= ends[0]) & (numbers < ends[1]), numbers >= ends[1]


def _trainer(
    X: Rows,
    known: Known,
    settings: Settings,
    recipe: Recipe | None,
    random: np.random.RandomState,
    generator: torch.Generator,
) -> Trainer:
    rows = settings.inputs.rows(X)
    if recipe is not None:
        assert isinstance(settings.model, TwoLayer)
        return RecipeTrainer(rows, known, settings.model, recipe, generator)
    lower = LowerLevel(settings.model, CrossEntropy(), rows, None, settings.alpha)
    theta = settings.model.init(generator)
    solver = make_solver(
        settings.inner,
        lower,
        torch.ones(len(known.y), dtype=theta.dtype),
        known.one_hot.to(theta.dtype),
        theta,
        seed=random.randint(2**31),
    )
    return SolverTrainer(lower, known, solver, theta)


def _half(rows: Tensor, known: Known, random: np.random.RandomState) -> Tensor:
    """Half of these trusted rows, of each class."""
    numbers = _numbers(rows)
    half = torch.zeros_like(rows)
    half[numbers[hold_out([known.y[numbers].numpy()], len(numbers), 0.5, random)]] = True
    return half


def _numbers(mask: Tensor) -> Tensor:
    return mask.nonzero()[:, 0]


def _judges(data: Data, settings: Settings, safeness: Safeness, random: np.random.RandomState) -> UpperLevel:
    """The user's own definition of safeness on the held-out rows."""
    try:
        return upper_level(data.judged_by_rank_rows(), settings, safeness, random)
    except ValueError as error:  # a class or group with few trusted rows may have none among the held-out ones
        assert data.y_rank is not None
        raise ValueError(f"safeness: on the {len(data.y_rank)} trusted rows held out to compare, {error}") from None


def _margins(upper: UpperLevel, reference: Tensor, refit: Tensor) -> list[SetMargin]:
    losses = zip(upper.names, upper.losses(reference).tolist(), upper.losses(refit).tolist(), strict=True)
    return [SetMargin(name, old, new, old - new) for name, old, new in losses]


def _report(standings: dict[str, Standing], kept: str, margins: list[SetMargin], *, wins: bool) -> SafenessReport:
    old, new = standings[kept], standings[STRUCTURED]
    n, unsafe = len(old.wrong), [margin.name for margin in margins if margin.margin < 0]
    sets = (SetMargin("held-out rows", old.loss, new.loss, old.loss - new.loss), *margins)
    compared = (
        f"log-loss {new.loss:.4g} against {old.loss:.4g} and {int(new.wrong.sum())} against {int(old.wrong.sum())} "
        f"mistakes on {n} trusted rows that the search did not use"
    )
    reference = f"the reference, trained on {kept} rows"
    if wins:
        verdict = "better than" if new.loss < old.loss else "not worse, chance aside, than"
        hint = "This is a comparison on the rows at hand, not a certificate."
        return SafenessReport(False, 1, sets, f"Safe: {verdict} {reference}, with {compared}. {hint}")
    reason = f"worse on {', '.join(unsafe)}" if unsafe else compared
    told = f"Fell back: the refit was not better ({reason}), so this is {reference}."
    return SafenessReport(False, None, sets, told).fallen_back(told)


def _outcome(
    data: Data,
    known: Known,
    trainer: Trainer,
    thetas: dict[str, Tensor],
    kept: str,
    labels: Tensor | None,  # distributions of the rows, where the refit is handed back
    report: SafenessReport,
    history: list[Record],
    standings: dict[str, Standing],
) -> Outcome:
    n, losses, dtype = len(data.y), torch.tensor([margin.raw_loss for margin in report.sets]), thetas[kept].dtype
    given = one_hot_labels(data.y, known.n_classes, torch.bool)  # the smallest type that holds it
    if not data.labelled.all():
        predicted = torch.softmax(trainer.outputs(thetas[kept], torch.arange(n)), dim=1)
        given = torch.where(data.labelled[:, None], given.to(dtype), predicted)
    best = reference = Candidate(None, thetas[kept], Point(data.labelled.to(dtype), given), losses)
    if labels is not None:
        best = Candidate(1, thetas[STRUCTURED], Point(torch.ones(n), labels[:n]), losses)
    references = {name: theta for name, theta in thetas.items() if name in REFERENCES}
    named = {"new" if name == STRUCTURED else name: standing for name, standing in standings.items()}
    compared = Compared(
        len(data.y_search) + torch.arange(len(named["raw"].losses)),
        {name: standing.losses for name, standing in named.items()},
        {name: standing.wrong for name, standing in named.items()},
    )
    ended = Ending(history, len(history), report.status)
    return Outcome(reference, best, report, None, ended, kept, references, compared)
