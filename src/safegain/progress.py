"""A progress bar as a callback: it watches the outer loop and is no part of it."""

from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class ProgressBar:
    """Shows outer steps done, time left and the loss that ranks the iterates. Use it as a context."""

    def __init__(self, steps: int) -> None:
        self._bar = Progress(
            TextColumn("searching"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._task = self._bar.add_task("search", total=steps, note="")

    def __enter__(self) -> "ProgressBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, record: dict[str, Any], _: object) -> None:
        note = f"loss {record['rank_loss']:.4f}{'' if record['safe'] else ', not safe'}"
        self._bar.update(self._task, completed=record["step"], note=note)
