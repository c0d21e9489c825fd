"""Which candidates of a contest are trained, where there is no time for all."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from safegain.search.entry import Entry, by_kind
from safegain.search.folds import Fold
from safegain.search.task import Task


def in_time(entries: Sequence[Entry], task: Task, folds: Sequence[Fold], enter: Callable[[Entry], Any]) -> list[Entry]:
    """Those for which there is time: a reference and a new one, as short as they must be, then others as they are."""
    clock, material = task.clock, task.material

    def size(entry: Entry) -> tuple[int, int, int]:
        n, d, k = material.size
        return (int(folds[0].trusted.sum()) if entry.candidate.labels == "trusted" else n), d, k

    def seconds(entry: Entry) -> float:
        return len(folds) * clock.seconds(entry.candidate.learner, size(entry))

    queue, entered = sorted(entries, key=seconds), list[Entry]()
    references, new = by_kind(queue, range(len(queue)))
    on_all = [number for number in references if queue[number].candidate.labels != "trusted"]
    must = [queue[numbers[0]] for numbers in (on_all or references, new) if numbers]
    for entry in [*must, *(entry for entry in queue if entry not in must)]:
        if entry in must:
            share = clock.left / (len(must) - len(entered))
            entry.learner = clock.in_time(entry.candidate.learner, size(entry), share / len(folds))
        elif seconds(entry) > clock.left:
            continue
        began = time.monotonic()
        enter(entry)
        clock.learn(entry.learner or entry.candidate.learner, size(entry), (time.monotonic() - began) / len(folds))
        entered.append(entry)
    return [entry for entry in entries if entry in entered]
