"""A progress bar: it watches the steps of a search, and is no part of it."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class ProgressBar:
    """Shows what is done, the time left, and the stage or the loss that ranks iterates. Use it as a context."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("searching"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),  # standard output is for results
        )
        self._task = self._bar.add_task("search", total=None, note="")

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:  # the steps that were needed have ended, which may be fewer than it seemed
            task = self._bar.tasks[self._task]
            total = min(task.completed + 1, task.total or 1)
            self._bar.update(self._task, completed=total, total=total, note="")
        self._bar.stop()

    def watch(self, note: str, done: int, total: int) -> None:
        """A step begins."""
        self._bar.update(self._task, completed=done, total=total, note=note)
