"""Work in a thread of its own, beside which this one can listen to other processes."""

import contextvars
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch


class SideThread(threading.Thread):
    """Begins at once. Torch's settings of a thread, and the device, are as in the thread that makes it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self.work, self.grad, self.context = work, torch.is_grad_enabled(), contextvars.copy_context()
        self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        torch.get_num_threads()  # torch settles a new thread's number when it is first asked
        try:
            with torch.set_grad_enabled(self.grad):
                self.result = self.context.run(self.work)
        except BaseException as error:
            self.error = error
        self.ended = True


def leave(code: int) -> None:
    """End the process at once, if there is work in it that nobody waits for any more."""
    if any(isinstance(thread, SideThread) for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
