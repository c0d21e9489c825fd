"""From a run folder back to the estimator that it was saved from. Nothing of it is executed, and nothing is trusted."""

import re
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from safegain.bilevel.models import Module
from safegain.certificates.certificate import Certificate
from safegain.certificates.ledger import Ledger
from safegain.data.labels import Labels
from safegain.estimators import PGSClassifier, PGSRegressor
from safegain.estimators.record import Record
from safegain.learners.trained import TrainedModel
from safegain.learners.wrapped import TrainedEstimator
from safegain.runs import facts
from safegain.runs.estimator_state import NoEstimator
from safegain.runs.facts import MODELS, Encoder, Estimator, Fitted
from safegain.runs.folder import FACTS, MODEL, Run, RunError, open_run
from safegain.runs.guard import distrusting
from safegain.runs.label_table import Learned, read_labels
from safegain.runs.ledger_file import read_ledger
from safegain.runs.model_state import Arrays, ModuleNeeded, models_from_state
from safegain.runs.objects import from_json
from safegain.runs.stored_models import read_models, trained_alone
from safegain.search.contest import SafenessReport
from safegain.search.outcome import Standing
from safegain.search.worth import Worth

ESTIMATORS = {"classes": PGSClassifier, "numbers": PGSRegressor}
LONGEST_TEXT = 1024  # characters of NumPy's texts, which take them in every row
_DTYPE = re.compile(r"\|O|\|b1|[<>|][iuf]\d{1,2}|[<>]U(\d{1,4})", re.ASCII)


def load(folder: str | PathLike, module: torch.nn.Module | None = None) -> Any:
    """The fitted estimator of a run folder; of a run over a table, a Pipeline that begins with the table's encoder.

    It predicts, certifies and lists label issues with the bits of the estimator that was saved. Where its model is a
    torch.nn.Module of your own, hand over one with the same layers as `module`; its numbers come from the folder.
    """
    run = open_run(Path(folder))
    path = run.folder / MODEL
    with distrusting(path, FACTS):
        arrays = _arrays(path)
        try:
            estimator = _estimator(run, arrays, module)
        except (ModuleNeeded, NoEstimator) as error:
            raise RunError(f"{run.folder}: {error}") from None
        encoder = None
        if run.facts.encoder is not None:
            encoder = _encoder(run.facts.encoder, arrays, estimator.n_features_in_)
    return estimator if encoder is None else Pipeline([("encoder", encoder), ("model", estimator)])


def _arrays(path: Path) -> Arrays:
    with safe_open(path, framework="np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dictionary


def _encoder(facts: Encoder, arrays: Arrays, n_features: int) -> Any:
    from safegain.encoding import TableEncoder  # pictures and texts are not asked of other runs

    own = {name.removeprefix("encoder."): array for name, array in arrays.items() if name.startswith("encoder.")}
    encoder = TableEncoder.from_state(msgspec.to_builtins(facts), own)
    if (found := len(encoder.get_feature_names_out())) != n_features:
        raise ValueError(f"the encoder gives {found} columns, and the model takes {n_features}")
    return encoder


def _estimator(run: Run, arrays: Arrays, module: torch.nn.Module | None) -> Any:
    stored, task = run.facts.estimator, run.facts.task
    if stored is None or run.facts.rows is None or stored.name != ESTIMATORS[task].__name__:
        raise ValueError(f"there are no rows, or the estimator is no {ESTIMATORS[task].__name__}")
    fitted = msgspec.convert(stored.fitted, Fitted)
    classes = None if task == "numbers" else _labels_array(run.facts.classes or [], str(fitted.class_dtype))
    learned = read_labels(run.folder, classes, run.facts.rows.all)
    labels = _labels(learned, classes, fitted)
    model, references = _models(fitted, arrays, labels, module)
    parameters = _parameters(stored, trained_alone(model, references), module)
    n, names = fitted.n_features_in, fitted.feature_names_in
    if names is not None and len(names) != n:
        raise ValueError(f"n_features_in is {n}, and {len(names)} columns have names")
    record = Record(
        labels=labels,
        trusted=learned.trusted,
        sample=learned.sample,
        held_out=learned.held_out,
        set_aside=learned.set_aside,
        weight=learned.weight,
        moved=learned.moved,
        corrected=learned.corrected if classes is None else classes[learned.corrected],
        model=model,
        references=references,
        reference=fitted.reference,
        safeness=_made(fitted.safeness, SafenessReport),
        certificate=None if fitted.certificate is None else _made(fitted.certificate, Certificate),
        digests=learned.digests,
        ledger=_ledger(run, learned.digests[~learned.set_aside]),
        comparison=_comparison(arrays, classifies=classes is not None),
        history=from_json(fitted.history),
        n_iter=fitted.n_iter,
        leaderboard=[Standing(**msgspec.to_builtins(each)) for each in fitted.leaderboard],
        clip=fitted.clip,
        worth=_worth(run.facts.worth),
        suggestions=learned.suggestions,
    )
    estimator = ESTIMATORS[task](**parameters)
    estimator.check_params()
    estimator.adopt(record)
    estimator.n_features_in_ = n
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _models(
    fitted: Fitted, arrays: Arrays, labels: Labels, module: torch.nn.Module | None
) -> tuple[Any, dict[str, Any]]:
    if (fitted.model is None) == (fitted.models is None):
        raise ValueError("there is no model, or one of two kinds")
    if fitted.models is not None:
        return read_models(fitted.models, arrays, labels, fitted.n_features_in, module)
    assert fitted.model is not None
    return models_from_state(fitted.model, arrays, labels, fitted.n_features_in, module)


def _parameters(stored: Estimator, models: list[Any], module: torch.nn.Module | None) -> dict[str, Any]:
    """Those that this version knows; what was not stored has its default."""
    known = ESTIMATORS["classes"]().get_params().keys() - set(stored.not_stored)
    parameters = {name: from_json(value) for name, value in stored.parameters.items() if name in known}
    if any(isinstance(each, TrainedModel) and isinstance(each.model, Module) for each in models):
        return parameters | {"model": module}
    if module is not None:
        raise ModuleNeeded("module: the model of this run is none of your own; leave it out")
    if "model" not in parameters and all(isinstance(each, TrainedEstimator) for each in models):
        parameters["model"] = clone(models[-1].estimator)
    return parameters


def _made(found: dict[str, Any], kind: type) -> Any:
    made = from_json(found)
    if not isinstance(made, kind):
        raise ValueError(f"there is no {kind.__name__}")
    return made


def _worth(found: facts.Worth | None) -> Worth | None:
    if found is None:
        return None
    if len({len(found.labels), len(found.alone), len(found.together)}) != 1 or not found.labels:
        raise ValueError("what rows without a label were worth has numbers that do not belong together")
    return Worth(tuple(found.labels), tuple(found.alone), tuple(found.together))


def _labels(learned: Learned, classes: np.ndarray | None, fitted: Fitted) -> Labels:
    """Of a checked row the table has what was given; what is right is its corrected label."""
    mean, scale = fitted.label_mean, fitted.label_scale
    before = learned.given if classes is None else learned.codes
    assert before is not None
    codes = np.where(learned.trusted, learned.corrected, before) if fitted.given_before_check else before
    if not fitted.given_before_check:
        before = None
    if classes is None:
        return Labels(codes, None, ~np.isnan(codes), None, mean, scale, before=before)
    labelled = codes >= 0
    dtype = _dtype(fitted.label_dtype, classes.tolist())
    # What a missing label is in an array of its type: -1 among whole numbers, else NaN or None.
    given = np.full(len(labelled), {"i": -1, "f": np.nan, "O": None}.get(dtype.kind, 0), dtype=dtype)
    given[labelled] = classes.astype(dtype)[codes[labelled]]
    return Labels(given, codes, labelled, classes, mean, scale, before=before)


def _labels_array(values: list[Any], dtype: str) -> np.ndarray:
    return np.array(values, dtype=_dtype(dtype, values))


def _dtype(text: str, values: list[Any]) -> np.dtype:
    """A type of labels. Texts are as long as they must be, where they claim to be longer than is sensible."""
    if not (match := _DTYPE.fullmatch(text)):
        raise ValueError(f"{text[:20]!r} is no type of labels")
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    if match[1] and not longest <= int(match[1]) <= max(longest, LONGEST_TEXT):
        raise ValueError(f"{text!r} does not hold the classes")
    dtype = np.dtype(text)
    if np.array(values, dtype=dtype).tolist() != values:
        raise ValueError(f"{text!r} does not hold the classes")
    return dtype


def _comparison(arrays: Arrays, *, classifies: bool) -> pd.DataFrame:
    names = np.array(MODELS, dtype=object)
    found = {
        "row": arrays["comparison.row"],
        "model": names[arrays["comparison.model"]],
        "loss": arrays["comparison.loss"],
    }
    if classifies:
        found["mistake"] = arrays["comparison.mistake"]
    return pd.DataFrame(found)


def _ledger(run: Run, learned_from: np.ndarray) -> Ledger:
    """Tests in Python are not written back: the folder may be somebody else's, and others may be at work in it."""
    ledger = read_ledger(run.folder, learned_from)
    ledger.remark = "The run folder does not know of this test: only safegain certify writes tests down there."
    return ledger
