"""Run folders: what a fit leaves behind, in an open format (docs/run-format.md). Reading one executes nothing of it."""

from safegain.runs.folder import Run, RunError, open_run

__all__ = ["Run", "RunError", "open_run"]
