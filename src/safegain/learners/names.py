"""From what a user writes as `model` to a learner."""

from typing import Any

import torch

from safegain.learners.base import Learner
from safegain.learners.linear import Linear
from safegain.learners.module import Module
from safegain.learners.network import Network
from safegain.learners.wrapped import Wrapped

NAMES = ("auto", "network", "linear")


def learner_of(model: Any, *, classifies: bool) -> Learner:
    """A name, a learner, a module, or an estimator. "auto" is a network for classes, and linear for numbers."""
    if isinstance(model, str):
        if model not in NAMES:
            raise ValueError(
                f"model: {model!r} is not known; give one of {', '.join(NAMES)}, a learner such as "
                "Network(n_hidden=50), a torch.nn.Module, or a scikit-learn estimator"
            )
        network = model == "network" or (model == "auto" and classifies)
        return Network() if network else Linear()
    if isinstance(model, Learner):
        learner = model
    elif isinstance(model, torch.nn.Module):
        learner = Module(model)
    elif hasattr(model, "fit") and hasattr(model, "predict") and not isinstance(model, type):
        learner = Wrapped(model)
    else:
        raise ValueError(
            f"model: must be one of {', '.join(NAMES)}, a learner, a torch.nn.Module or a scikit-learn estimator, "
            f"got {model!r}"
        )
    learner.check_task(classifies=classifies)
    return learner
