"""Run folders made by hand, as docs/run-format.md describes them: for tests of what reads one."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

CLASSES = ["cat", "dog", "otter"]


def make_run(
    folder: Path,
    *,
    task: str = "classes",
    n: int = 300,
    n_trusted: int = 60,
    words: list[str] | None = None,
    pictures: bool = False,
    seed: int = 0,
) -> Path:
    """A finished run, a third of its weak labels suspicious. `words` serve as classes, columns, ids and texts."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    classes = words or CLASSES
    trusted = np.arange(n) >= n - n_trusted
    suspicious = ~trusted & (random.random(n) < 1 / 3)
    if task == "classes":
        given, other = random.integers(len(classes), size=n), random.integers(1, len(classes), size=n)
        suggested = np.array(classes, dtype=object)[(given + other) % len(classes)]
        given = np.array(classes, dtype=object)[given]
    else:
        given = random.normal(100, 15, n)
        suggested = given + random.normal(0, 20, n)
    suspicion = np.where(suspicious, 1 - random.random(n) / 2, 0.0)
    labels = pd.DataFrame(
        {
            "row": np.arange(n),
            "id": [f"{(words or ['id'])[i % len(words or ['id'])]}-{i}" for i in range(n)],
            "given": given,
            "corrected": np.where(suspicion > 0.75, suggested, given),
            "suggested": np.where(suspicious, suggested, None if task == "classes" else np.nan),
            "confidence": np.where(suspicious, random.random(n), 0.0),
            "weight": np.where(trusted, 1.0, random.random(n)),
            "suspicion": suspicion,
            "trusted": trusted,
            "held_out": trusted & (np.arange(n) % 2 == 0),
            "set_aside": np.zeros(n, bool),
            "group": np.where(np.arange(n) % 2, "north", "south"),
            "effect": random.random(n),
            "disagrees": suspicious & (random.random(n) < 0.5),
            "digest_1": np.arange(n, dtype=np.uint64),
            "digest_2": np.arange(n, dtype=np.uint64),
        }
    )
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    columns = {"age": "number", "town": "category", "comment": "text"}
    if words:
        columns = dict.fromkeys(words[:10], "text")
    shown = np.arange(n)
    values = [
        json.dumps({name: words[(i + j) % len(words)] if words else f"{name} {i}" for j, name in enumerate(columns)})
        for i in shown
    ]
    png = [_picture(random) if pictures else None for _ in shown]
    pd.DataFrame({"row": shown, "values": values, "picture": png}).to_parquet(folder / "examples.parquet", index=False)
    weak = np.flatnonzero(~trusted)
    near = random.choice(np.flatnonzero(trusted), size=(len(weak), 3))
    neighbours = {
        "row": np.repeat(weak, 3),
        "place": np.tile(np.array([1, 2, 3], np.int8), len(weak)),
        "neighbour": near.ravel(),
        "distance": np.sort(random.random((len(weak), 3)), axis=1).ravel(),
    }
    pd.DataFrame(neighbours).to_parquet(folder / "neighbours.parquet", index=False)
    (folder / "run.json").write_text(json.dumps(_facts(task, classes, columns, labels)))
    return folder


def _picture(random: np.random.Generator) -> bytes:
    file = io.BytesIO()
    Image.fromarray(random.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(file, "PNG")
    return file.getvalue()


def _facts(task: str, classes: list[str], columns: dict[str, str], labels: pd.DataFrame) -> dict:
    mistakes = task == "classes"
    losses = {"raw": 0.9, "raw+trusted": 0.8, "trusted": 1.0, "new": 0.5}
    entry = {
        "name": "all rows",
        "measure": "error" if mistakes else "squared_error",
        "test": "sign test" if mistakes else "betting",
        "n": 200,
        "won": 30,
        "lost": 10,
        "gain": 0.1,
        "lower_bound": 0.04,
        "p_value": 0.001,
        "delta": 0.05,
        "tolerance": 0.0,
        "bound": 1.0,
        "certified": True,
    }
    counts = {"all": len(labels), "weak": int((~labels.trusted).sum()), "trusted": int(labels.trusted.sum())}
    return {
        "format": 3,
        "safegain": "0.1.0",
        "versions": {"python": "3.11.0", "torch": "2.13.0", "numpy": "2.4.6", "scikit-learn": "1.9.1"},
        "created": "2026-01-31T12:00:00+00:00",
        "seconds": 12.3,
        "task": task,
        "label": classes[0] if columns.keys() != {"age", "town", "comment"} else "animal",
        "classes": classes if mistakes else None,
        "rows": counts | {"held_out": int(labels.held_out.sum()), "set_aside": 0, "unlabelled": 0},
        "columns": columns,
        "files": {"train": f"{classes[0]}.csv", "trusted": "trusted.csv"},
        "notes": ["the label has 3 different words: classes"],
        "estimator": {"name": "PGSClassifier", "parameters": {"search": "auto", "reference": "best"}, "fitted": {}},
        "encoder": None,
        "verdict": {
            "outcome": "improved",
            "sentence": "Safe: better than the reference, trained on raw+trusted rows, with log-loss 0.5 against 0.8.",
            "reference": "raw+trusted",
        },
        "certificate": {
            "certified": True,
            "p_value": 0.001,
            "lower_bound": 0.04,
            "n": 200,
            "sentence": "Certified at level 0.05: on data like these 200 fresh rows, the error of the new model is not "
            "higher than that of the reference (30 rows won, 10 lost, p = 0.001).",
            "entries": [entry],
        },
        "models": [
            {
                "name": name,
                "n": 30,
                "loss": loss,
                "mistakes": loss / 4 if mistakes else None,
                "role": {"raw+trusted": "reference", "new": "new"}.get(name),
            }
            for name, loss in losses.items()
        ],
        "margins": [{"name": "held-out rows", "raw_loss": 0.8, "new_loss": 0.5, "margin": 0.3}],
        "by_class": [{"name": name, "n": 10, "reference": 0.3, "new": 0.2} for name in classes] if mistakes else None,
        "by_group": [{"name": name, "n": 15, "reference": 0.3, "new": 0.35} for name in ("north", "south")],
        "history": [{"candidate": name, "rank_loss": loss, "mistakes": loss / 4} for name, loss in losses.items()],
        "checked": None,
        "n_suspicious": int((labels.suspicion > 0).sum()),
        "seed": 0,
    }
