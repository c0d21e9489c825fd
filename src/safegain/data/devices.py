"""Where networks and kernels are trained: on the processor, or on a device that torch knows.

A fit chooses the device, and what is trained within it asks for it here. All else lies in the processor's memory,
random numbers are drawn there, and models come back to it to predict: torch's own default device is never asked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
CPU = torch.device("cpu")
_CHOSEN = ContextVar("device", default=CPU)

Item = TypeVar("Item")
Result = TypeVar("Result")


def device_named(name: str) -> torch.device:
    """One of DEVICES; "auto" is the first of CUDA and MPS that is there, or the processor."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next((each for each, available in there.items() if available), "cpu")
    elif not there.get(name, True):
        raise ValueError(f"device: torch finds no {name!r} on this machine; give 'auto' or 'cpu'")
    return torch.device(name)


def training_device() -> torch.device:
    """That of the fit in which this is called; elsewhere the processor."""
    return _CHOSEN.get()


@contextmanager
def training_on(device: torch.device) -> Iterator[None]:
    """Train on that device; tensors that are made without one lie in the processor's memory."""
    token = _CHOSEN.set(device)
    try:
        # Only where it changes something: within torch's context, every call of torch passes through Python.
        with nullcontext() if torch.get_default_device() == CPU else CPU:
            yield
    finally:
        _CHOSEN.reset(token)


def for_threads(work: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """The same work, for other threads of this fit."""
    device = training_device()

    def on_device(item: Item) -> Result:
        with training_on(device):
            return work(item)

    return on_device
