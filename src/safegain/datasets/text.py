"""Comments under videos, with the votes of ten labelling functions."""

import gzip
import json
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from safegain.datasets.files import obtain

ORIGIN = "the WRENCH benchmark of weak supervision, data set youtube (train.json, valid.json, test.json)"


def load_youtube(*, data_dir: str | Path | None = None) -> Bunch:
    """YouTube comments: `text`, `target` (0 ham, 1 spam), `weak_labels` (n, 10) with -1 for no vote.

    `data` is the text again, so that a loop over sets may always ask for data; `split` is train, valid or test.
    """
    path = obtain("ws_youtube.jsonl.gz", data_dir=data_dir, origin=ORIGIN)
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    text = np.array([row["text"] for row in rows], dtype=object)
    return Bunch(
        data=text,
        text=text,
        target=np.array([row["label"] for row in rows], dtype=np.int64),
        weak_labels=np.array([row["weak_labels"] for row in rows], dtype=np.int64),
        split=np.array([row["split"] for row in rows]),
        class_names=["ham", "spam"],
    )
