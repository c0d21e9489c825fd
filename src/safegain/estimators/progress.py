"""A progress bar: it watches the outer loop, or the stages of a run without one, and is no part of them."""

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class ProgressBar:
    """Shows what is done, the time left, and the loss that ranks the iterates or the stage. Use it as a context."""

    def __init__(self, steps: int) -> None:
        self._bar = Progress(
            TextColumn("searching"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),  # standard output is for results
        )
        self._task = self._bar.add_task("search", total=steps, note="")

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def stage(self, name: str, done: int, total: int) -> None:
        """A stage begins."""
        self._bar.update(self._task, completed=done, total=total, note=name)

    def ended(self) -> None:
        """All stages that were needed have ended, which may be fewer than it seemed."""
        done = self._bar.tasks[self._task].completed + 1
        self._bar.update(self._task, completed=done, total=done, note="")

    def __call__(self, record: dict[str, Any], _: object) -> None:
        note = f"loss {record['rank_loss']:.4f}{'' if record['safe'] else ', not safe'}"
        self._bar.update(self._task, completed=record["step"], note=note)
