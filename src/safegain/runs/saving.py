"""From a fitted estimator to a run folder. run.json comes last: a folder that has it is whole."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import numpy as safetensors
from sklearn.utils.validation import check_is_fitted

from safegain.data.files import written
from safegain.data.kinds import Kind
from safegain.data.ranks import ALONE, Ranks
from safegain.estimators.record import Record
from safegain.estimators.rows import rows_of
from safegain.learners.trained import TrainedModel
from safegain.learners.wrapped import TrainedEstimator
from safegain.runs import effect, facts, findings
from safegain.runs.doubt import suspicion_of_numbers
from safegain.runs.estimator_state import NoEstimator, estimator_to_bytes
from safegain.runs.folder import DOUBTFUL, EXAMPLES, FACTS, MODEL, NEIGHBOURS, PART, REQUEST, RunError
from safegain.runs.label_table import suspected, write_labels
from safegain.runs.ledger_file import write_ledger
from safegain.runs.model_state import Arrays, models_to_state
from safegain.runs.objects import parameters_to_json, to_json
from safegain.runs.stored_models import stored_models, trained_alone
from safegain.search.references import NEW


@dataclass(frozen=True)
class Story:
    """What the estimator does not know of its run."""

    label: str | None = None  # its column
    columns: dict[str, Kind] | None = None
    files: facts.Files | None = None
    notes: Sequence[str] = ()
    encoder: Any = None  # a TableEncoder
    ids: Sequence[str] | np.ndarray | None = None  # one for each of this process's rows
    groups: Sequence[str] | np.ndarray | None = None
    examples: pd.DataFrame | None = None  # rows to show, and the trusted rows nearest to them: jobs/shown.py
    neighbours: pd.DataFrame | None = None
    seconds: float | None = None


def record_of(estimator: Any) -> Record:
    """What its fit found, if a folder can hold the model."""
    check_is_fitted(estimator)
    record: Record = estimator.record_
    for model in trained_alone(record.model, record.references):
        if isinstance(model, TrainedEstimator):
            try:
                estimator_to_bytes(model.estimator)
            except NoEstimator as error:
                raise RunError(str(error)) from None
    return record


def save(model: Any, folder: str | PathLike, X: Any = None) -> None:
    """Write a run folder, from which `safegain.load(folder)` makes the estimator again: docs/run-format.md.

    With X, the rows of the fit, the labels table also says which labels matter most to check and where the model and
    its reference differ, and fresh rows can be told from these. Of the parameters, functions, generators and a module
    of your own are not stored.
    """
    record, folder = record_of(model), Path(folder)
    if any((folder / name).exists() for name in (FACTS, REQUEST)):
        raise _taken(folder)
    write_run(folder, model, facts_of_rows(model, X), ranks=record.labels.ranks)


def facts_of_rows(estimator: Any, X: Any = None) -> pd.DataFrame:
    """trusted, suspicion, confidence of every row of the fit; with X, its rows, also effect and disagrees.

    Numbers of a search that has only weights and shifts are doubted for being far from what the model expects, which is
    then suggested: weights and shifts alone tell which ones are wrong, and not how far.
    """
    record = record_of(estimator)
    found = suspected(record)
    if X is None:
        return found
    seen = effect.of_rows(record, rows_of(estimator, X))
    if "expected" in seen and record.suggestions is None:
        doubted = _doubted_numbers(record, seen["expected"].to_numpy())
        found = found.assign(suspicion=doubted, confidence=doubted)
    elif "expected" in seen:
        seen = seen.drop(columns="expected")
    return pd.concat([found, seen], axis=1)


def _doubted_numbers(record: Record, expected: np.ndarray) -> np.ndarray:
    labels, comparison = record.labels, record.comparison
    chosen = record.reference if record.fell_back else NEW
    compared = comparison.loc[comparison["model"] == chosen, "loss"].to_numpy()  # squared errors of rows kept aside
    weak = labels.labelled & ~record.trusted
    suspicion = np.zeros(len(labels))
    suspicion[weak] = suspicion_of_numbers(np.sqrt(compared), np.abs(labels.given - expected)[weak])
    return suspicion


def write_run(
    folder: Path, estimator: Any, rows: pd.DataFrame, story: Story | None = None, *, ranks: Ranks = ALONE
) -> None:
    """Write what a fit has found; each process its own rows, and the first one all the rest.

    `rows` is what `facts_of_rows` gives.
    """
    record, story = record_of(estimator), story or Story()
    if any(ranks.gather((folder / FACTS).exists())):
        raise _taken(folder)
    try:
        if ranks.rank == 0:
            _make_room(folder)
        first_row = sum(ranks.gather(len(rows))[: ranks.rank])  # once this is said, the folder is there
        with written(folder / f"labels-{ranks.rank + 1}-of-{ranks.size}.parquet") as beside:
            write_labels(beside, record, rows, first_row=first_row, ids=story.ids, groups=story.groups)
        stored, arrays = _estimator(estimator, record)
        encoder = _encoded(story.encoder, arrays)
        found = _facts(record, stored, rows, story, first_row, ranks)
        if ranks.rank == 0:
            with written(folder / MODEL) as beside:
                beside.write_bytes(safetensors.save(arrays))
            write_ledger(folder, estimator.ledger_)
            for name, table in ((EXAMPLES, story.examples), (NEIGHBOURS, story.neighbours)):
                if table is not None:
                    with written(folder / name) as beside:
                        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), beside)
        ranks.count(1)  # everyone has written
        if ranks.rank == 0:
            told = msgspec.to_builtins(msgspec.structs.replace(found, encoder=encoder))
            with written(folder / FACTS) as beside:
                beside.write_text(json.dumps(told, indent=1, allow_nan=False))
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
    record: Record, stored: facts.Estimator, rows: pd.DataFrame, story: Story, first_row: int, ranks: Ranks
) -> facts.Facts:
    """What run.json says of the fit, on all ranks."""
    labels, comparison, reference = record.labels, record.comparison, record.reference

    def by_part(values: Any) -> list[facts.Part] | None:
        if values is None:
            return None
        return findings.by_part(comparison, reference, findings.values_of_rows(values, comparison, first_row, ranks))

    seed = stored.parameters.get("random_state")
    return facts.Facts(
        **findings.about_software(),
        task="numbers" if labels.classes is None else "classes",
        classes=None if labels.classes is None else labels.classes.tolist(),
        label=story.label,
        columns=story.columns,
        files=story.files,
        notes=list(story.notes),
        seconds=story.seconds,
        rows=findings.count_rows(record, ranks),
        repeats=findings.repeats(record, ranks),
        estimator=stored,
        verdict=findings.verdict(record.safeness, record.certificate, reference),
        certificate=findings.proof(record.certificate),
        models=findings.compared_models(comparison, reference),
        margins=findings.margins(record.safeness),
        history=findings.steps(record.history),
        worth=findings.worth(record),
        checked=findings.checked_labels(record, ranks),
        n_suspicious=ranks.count((rows["suspicion"] > DOUBTFUL).sum()),
        by_class=by_part(None if labels.classes is None else labels.values),
        by_group=by_part(story.groups),
        seed=seed if isinstance(seed, int) else None,
    )


def _estimator(estimator: Any, record: Record) -> tuple[facts.Estimator, Arrays]:
    """What `load` makes the estimator of."""
    labels, comparison = record.labels, record.comparison
    parameters, lost = parameters_to_json(estimator.get_params(deep=False))
    model = models = None
    if all(isinstance(each, TrainedModel) for each in (record.model, *record.references.values())):
        model, arrays = models_to_state(record.model, record.references)
    else:
        models, arrays = stored_models(record.model, record.references)
    arrays["comparison.row"] = comparison["row"].to_numpy(np.int64)
    arrays["comparison.model"] = comparison["model"].map(facts.MODELS.index).to_numpy(np.uint8)
    arrays["comparison.loss"] = comparison["loss"].to_numpy()
    if labels.classes is not None:
        arrays["comparison.mistake"] = comparison["mistake"].to_numpy(bool)
    names = vars(estimator).get("feature_names_in_")
    reference: Any = record.reference
    fitted = facts.Fitted(
        n_features_in=int(estimator.n_features_in_),
        feature_names_in=None if names is None else names.tolist(),
        label_dtype=_dtype(labels.given),
        class_dtype=None if labels.classes is None else _dtype(labels.classes),
        label_mean=float(labels.mean),
        label_scale=float(labels.scale),
        clip=record.clip,
        given_before_check=labels.before is not None,
        n_iter=int(record.n_iter),
        reference=reference,
        model=model,
        models=models,
        safeness=to_json(record.safeness),
        certificate=to_json(record.certificate),
        history=to_json(record.history),
        leaderboard=[facts.Standing(**asdict(each)) for each in record.leaderboard],
    )
    return facts.Estimator(type(estimator).__name__, parameters, lost, msgspec.to_builtins(fitted)), arrays


def _dtype(values: np.ndarray) -> str:
    """As NumPy writes it; other kinds of text than its own come back as objects."""
    return values.dtype.str if values.dtype.kind in "biufU" else "|O"


def _encoded(encoder: Any, arrays: Arrays) -> facts.Encoder | None:
    """The encoder's facts; its arrays are added to those of the models."""
    if encoder is None:
        return None
    told, numbers = encoder.state()
    arrays |= {f"encoder.{name}": np.ascontiguousarray(array) for name, array in numbers.items()}
    return msgspec.convert(told, facts.Encoder)
