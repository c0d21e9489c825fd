"""How the candidates of a contest fared."""

from collections.abc import Sequence

from torch import Tensor

from safegain.search.contest import Score
from safegain.search.entry import Entry
from safegain.search.mixing import Mix
from safegain.search.outcome import Comparison, Standing
from safegain.search.references import NEW, REFERENCES


def comparison(entries: Sequence[Entry], scores: Sequence[Score], new: Score, rows: Tensor) -> Comparison:
    """The best reference of each kind, and the new model; `rows` are the judged ones' numbers among the trusted."""
    best: dict[str, Score] = {}
    for entry, score in sorted(zip(entries, scores, strict=True), key=lambda pair: pair[1].loss):
        if entry.candidate.is_reference:
            best.setdefault(entry.candidate.labels, score)
    best = {name: best[name] for name in REFERENCES if name in best} | {NEW: new}
    losses = {name: score.losses for name, score in best.items()}
    wrong = {name: score.wrong for name, score in best.items() if score.wrong is not None}
    return Comparison(rows, losses, wrong or None)


def leaderboard(entries: Sequence[Entry], scores: Sequence[Score], mix: Mix) -> list[Standing]:
    """Best first."""
    share = dict(zip(mix.members, mix.weights, strict=True))
    found = [
        Standing(
            entry.candidate.learner_name,
            entry.candidate.labels,
            score.loss,
            score.mistakes,
            share.get(number, 0.0),
            entry.seconds,
        )
        for number, (entry, score) in enumerate(zip(entries, scores, strict=True))
    ]
    return sorted(found, key=lambda standing: standing.loss)
