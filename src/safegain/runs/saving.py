"""From a fitted estimator to a run folder. run.json comes last: a folder that has it is whole."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import numpy as safetensors
from sklearn.utils.validation import check_is_fitted

from safegain.data.files import written
from safegain.data.ranks import ALONE, Ranks
from safegain.runs import effect, facts
from safegain.runs.doubt import suspicion_of_numbers
from safegain.runs.folder import DOUBTFUL, EXAMPLES, FACTS, MODEL, NEIGHBOURS, PART, REQUEST, RunError
from safegain.runs.label_table import suspected, write_labels
from safegain.runs.model_state import Arrays, models_to_state
from safegain.runs.objects import parameters_to_json, to_json
from safegain.runs.schema import MODELS, NEW


def facts_of_rows(estimator: Any, X: Any = None) -> pd.DataFrame:
    """trusted, suspicion, confidence of every row of the fit; with X, its rows, also effect, disagrees and digest.

    With X, numbers are doubted for being far from what the model expects, which is then suggested: weights and shifts
    alone tell which ones are wrong, and not how far.
    """
    found = suspected(estimator)
    if X is None:
        return found
    seen = effect.of_rows(estimator, X)
    if "expected" in seen:
        doubted = _doubted_numbers(estimator, seen["expected"].to_numpy())
        found = found.assign(suspicion=doubted, confidence=doubted)
    return pd.concat([found, seen], axis=1)


def _doubted_numbers(estimator: Any, expected: np.ndarray) -> np.ndarray:
    labels, comparison = estimator._labels, estimator.comparison_
    chosen = estimator.reference_ if estimator.model_ is estimator.reference_model_ else NEW
    compared = comparison.loc[comparison["model"] == chosen, "loss"].to_numpy()  # squared errors of rows kept aside
    weak = labels.labelled & ~estimator.trusted_
    suspicion = np.zeros(len(labels))
    suspicion[weak] = suspicion_of_numbers(np.sqrt(compared), np.abs(labels.given - expected)[weak])
    return suspicion


def save(estimator: Any, folder: str | PathLike, X: Any = None) -> None:
    """A run folder of its own, without examples."""
    check_is_fitted(estimator)
    folder = Path(folder)
    if any((folder / name).exists() for name in (FACTS, REQUEST)):
        raise _taken(folder)
    write_run(folder, estimator, rows=facts_of_rows(estimator, X), ranks=estimator._labels.ranks)


def write_run(
    folder: Path,
    estimator: Any,
    *,
    rows: pd.DataFrame,
    encoder: Any = None,
    problem_facts: Mapping[str, Any] | None = None,
    ids: Any = None,
    groups: Any = None,
    examples: pd.DataFrame | None = None,
    neighbours: pd.DataFrame | None = None,
    seconds: float | None = None,
    ranks: Ranks = ALONE,
) -> None:
    """Write what a fit has found; each process its own rows, and the first one all the rest.

    Parameters
    ----------
    rows : what `facts_of_rows` gives
    problem_facts : label (its column), columns (name -> kind), files, notes, as they shall be in run.json
    ids, groups : texts, one for each of this process's rows
    examples, neighbours : tables that shown.py makes, from the first process
    """
    if any(ranks.gather((folder / FACTS).exists())):
        raise _taken(folder)
    try:
        if ranks.rank == 0:
            _make_room(folder)
        first_row = sum(ranks.gather(len(rows))[: ranks.rank])  # once this is said, the folder is there
        with written(folder / f"labels-{ranks.rank + 1}-of-{ranks.size}.parquet") as beside:
            write_labels(beside, estimator, rows, first_row=first_row, ids=ids, groups=groups)
        found, arrays = _facts(estimator, rows, groups, first_row, ranks)
        if ranks.rank == 0:
            found |= {"label": None, "columns": None, "files": None, "notes": [], **(problem_facts or {})}
            found |= {"encoder": _encoded(encoder, arrays), "seconds": seconds}
            with written(folder / MODEL) as beside:
                beside.write_bytes(safetensors.save(arrays))
            for name, table in ((EXAMPLES, examples), (NEIGHBOURS, neighbours)):
                if table is not None:
                    with written(folder / name) as beside:
                        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), beside)
        ranks.count(1)  # everyone has written
        if ranks.rank == 0:
            with written(folder / FACTS) as beside:
                beside.write_text(json.dumps({**facts.about_software(), **found}, indent=1, allow_nan=False))
    except OSError as error:
        raise RunError(
            f"{folder}: cannot be written: {error.strerror or error}; free some room, or give another"
        ) from None


def _taken(folder: Path) -> RunError:
    return RunError(f"{folder}: holds a run already; give another folder, or remove this one")


def _make_room(folder: Path) -> None:
    """The folder, without labels that a killed process has left: one of another number of processes, perhaps."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if PART.fullmatch(file.name):
            file.unlink()


def _facts(
    estimator: Any, rows: pd.DataFrame, groups: Any, first_row: int, ranks: Ranks
) -> tuple[dict[str, Any], Arrays]:
    """What run.json and model.safetensors say of the fit, on all ranks."""
    labels, comparison, reference = estimator._labels, estimator.comparison_, estimator.reference_
    parts = {"by_class": None if labels.classes is None else labels.values, "by_group": groups}
    told = {
        name: None
        if values is None
        else facts.by_part(comparison, reference, facts.values_of_rows(values, comparison, first_row, ranks))
        for name, values in parts.items()
    }
    estimated, arrays = _estimator(estimator)
    seed = estimator.random_state
    return {
        "task": "numbers" if labels.classes is None else "classes",
        "classes": None if labels.classes is None else labels.classes.tolist(),
        "rows": facts.count_rows(estimator, ranks),
        "estimator": estimated,
        "verdict": facts.verdict(estimator.safeness_, estimator.certificate_, reference),
        "certificate": None if estimator.certificate_ is None else facts.plain(estimator.certificate_.as_dict()),
        "models": facts.compared_models(comparison, reference),
        "margins": facts.margins(estimator.safeness_),
        **told,
        "history": facts.plain(estimator.history_),
        "n_suspicious": ranks.count((rows["suspicion"] > DOUBTFUL).sum()),
        "seed": int(seed) if isinstance(seed, int | np.integer) else None,
    }, arrays


def _estimator(estimator: Any) -> tuple[dict[str, Any], Arrays]:
    """What `load` makes the estimator of."""
    labels, comparison = estimator._labels, estimator.comparison_
    parameters, lost = parameters_to_json(estimator.get_params(deep=False))
    model, arrays = models_to_state(estimator.model_, estimator.references_)
    arrays["comparison.row"] = comparison["row"].to_numpy(np.int64)
    arrays["comparison.model"] = comparison["model"].map(MODELS.index).to_numpy(np.uint8)
    arrays["comparison.loss"] = comparison["loss"].to_numpy()
    if labels.classes is not None:
        arrays["comparison.mistake"] = comparison["mistake"].to_numpy(bool)
    names = vars(estimator).get("feature_names_in_")
    fitted = {
        "n_features_in": int(estimator.n_features_in_),
        "feature_names_in": None if names is None else names.tolist(),
        "label_dtype": _dtype(labels.given),
        "class_dtype": None if labels.classes is None else _dtype(labels.classes),
        "label_mean": float(labels.mean),
        "label_scale": float(labels.scale),
        "clip": estimator._clip,
        "n_iter": int(estimator.n_iter_),
        "reference": estimator.reference_,
        "model": model,
        "safeness": to_json(estimator.safeness_),
        "certificate": to_json(estimator.certificate_),
        "history": to_json(estimator.history_),
    }
    name = type(estimator).__name__
    return {"name": name, "parameters": parameters, "not_stored": lost, "fitted": fitted}, arrays


def _dtype(values: np.ndarray) -> str:
    """As NumPy writes it; other kinds of text than its own come back as objects."""
    return values.dtype.str if values.dtype.kind in "biufU" else "|O"


def _encoded(encoder: Any, arrays: Arrays) -> dict[str, Any] | None:
    """The encoder's facts; its arrays are added to those of the models."""
    if encoder is None:
        return None
    told, numbers = encoder.state()
    arrays |= {f"encoder.{name}": np.ascontiguousarray(array) for name, array in numbers.items()}
    return told
