"""Processes of their own that need not import everything again: they are forked from one that has done so."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.process import BaseProcess

import torch

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(
    [
        *("safegain.cli.fit", "safegain.jobs.fitting", "safegain.report", "sklearn.datasets"),
        *("safegain.search.contest_road", "safegain.search.curve_road", "torch._dynamo"),  # which a fit imports late
    ]
)


def forked(work: Callable, *arguments: object, **environment: str) -> BaseProcess:
    """work(*arguments), begun in a process with these variables of the environment and one thread."""
    process = SERVER.Process(target=_work, args=(environment, work, arguments), daemon=True)
    process.start()
    return process


def _work(environment: dict[str, str], work: Callable, arguments: tuple) -> None:
    os.environ.update(environment)
    torch.set_num_threads(1)
    work(*arguments)
