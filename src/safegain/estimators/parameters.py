"""The constructor arguments of both estimators, and what each of them may be."""

import os
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from safegain.bilevel.hypergradient import Engine
from safegain.bilevel.outer_loop import Callback
from safegain.bilevel.safeness import Safeness
from safegain.certificates.claims import Certify
from safegain.learners.configure import ENGINES, SOLVERS
from safegain.learners.recipe import Recipe


class PGSParameters(BaseEstimator):
    _parameter_constraints: ClassVar[dict] = {
        "reference": [StrOptions({"best", "raw", "raw+trusted", "trusted"})],
        "certify": [Interval(Real, 0, 1, closed="neither"), Certify, None],
        "n_hidden": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "scaling": [StrOptions({"auto", "column", "common", "none"})],
        "solver": [StrOptions(set(SOLVERS))],
        "n_inner": [Interval(Integral, 1, None, closed="left")],
        "lr_inner": [Interval(Real, 0, None, closed="neither"), None],
        "memory_budget": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "engine": [StrOptions(set(ENGINES)), Engine],
        "n_outer": [Interval(Integral, 1, None, closed="left")],
        "lr_outer": [Interval(Real, 0, None, closed="neither")],
        "safeness": [Safeness, None],
        "m": [Interval(Integral, 1, None, closed="left")],
        "penalty_weight": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"paper", "hinge"})],
        "eps1": [Interval(Real, 0, None, closed="left"), None],
        "eps2": [Interval(Real, 0, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "selection_fraction": [Interval(Real, 0, 1, closed="left"), None],
        "recipe": [Recipe, None],
        "checkpoint": [str, os.PathLike, None],
        "workspace": [str, os.PathLike, None],
        "callbacks": [list, tuple, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        model: str | torch.nn.Module = "auto",
        *,
        search_space: str = "auto",
        reference: str = "best",
        certify: float | Certify | None = None,
        n_hidden: int | None = None,
        alpha: float = 1e-4,
        scaling: str = "auto",
        solver: str = "auto",
        n_inner: int = 500,
        lr_inner: float | None = None,
        batch_size: int | None = None,
        memory_budget: int = 2**29,
        tol: float = 1e-7,
        engine: str | Engine = "auto",
        n_outer: int = 20,
        lr_outer: float = 0.06,
        safeness: Safeness | None = None,
        m: int = 3,
        penalty_weight: float = 1.0,
        penalty: str = "paper",
        eps1: float | None = None,
        eps2: float | None = None,
        validation_fraction: float = 0.2,
        selection_fraction: float | None = None,
        recipe: Recipe | None = None,
        checkpoint: str | os.PathLike | None = None,
        workspace: str | os.PathLike | None = None,
        callbacks: list[Callback] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.model = model
        self.search_space = search_space
        self.reference = reference
        self.certify = certify
        self.n_hidden = n_hidden
        self.alpha = alpha
        self.scaling = scaling
        self.solver = solver
        self.n_inner = n_inner
        self.lr_inner = lr_inner
        self.batch_size = batch_size
        self.memory_budget = memory_budget
        self.tol = tol
        self.engine = engine
        self.n_outer = n_outer
        self.lr_outer = lr_outer
        self.safeness = safeness
        self.m = m
        self.penalty_weight = penalty_weight
        self.penalty = penalty
        self.eps1 = eps1
        self.eps2 = eps2
        self.validation_fraction = validation_fraction
        self.selection_fraction = selection_fraction
        self.recipe = recipe
        self.checkpoint = checkpoint
        self.workspace = workspace
        self.callbacks = callbacks
        self.verbose = verbose
        self.random_state = random_state
