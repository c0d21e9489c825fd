"""Short texts with the votes of labelling rules, and how texts and votes become rows and labels."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from safegain.datasets.files import obtain

RULES = "the rules of github.com/awasthiabhijeet/Learning-From-Rules, data/{}"
ORIGINS = {
    "ws_youtube": "the WRENCH benchmark of weak supervision, data set youtube (train.json, valid.json, test.json)",
    "ws_trec": RULES.format("TREC"),
    "ws_sms": RULES.format("SMS"),
}
CLASSES = {
    "ws_youtube": ["ham", "spam"],
    "ws_trec": ["0", "1", "2", "3", "4", "5"],
    "ws_sms": ["ham", "spam"],
}
N_DIRECTIONS = 200


def load_text(name: str, *, data_dir: str | Path | None = None) -> Bunch:
    """Comments under videos (ws_youtube), questions of six kinds (ws_trec) or messages (ws_sms).

    `text`, `target` as numbers of `class_names`, `weak_labels` (n, rules) with -1 for no vote, `split` train, valid or
    test. `data` is the text again, so that a loop over sets may always ask for data.
    """
    if name not in ORIGINS:
        raise ValueError(f"name: {name!r} is not known; choose one of {', '.join(sorted(ORIGINS))}")
    path = obtain(f"{name}.jsonl.gz", data_dir=data_dir, origin=ORIGINS[name])
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    text = np.array([row["text"] for row in rows], dtype=object)
    return Bunch(
        data=text,
        text=text,
        target=np.array([row["label"] for row in rows], dtype=np.int64),
        weak_labels=np.array([row["weak_labels"] for row in rows], dtype=np.int64),
        split=np.array([row["split"] for row in rows]),
        class_names=CLASSES[name],
    )


def text_features(learned_from: Sequence[str], texts: Sequence[str], *, random_state: int = 0) -> np.ndarray:
    """`texts` as the leading directions of tf-idf, both learned from other texts without labels  # (n, 200)

    Words and pairs of words that stand in at least two of the texts; fewer directions where there are fewer of them.
    """
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    n_words = len(words.fit(learned_from).vocabulary_)
    directions = TruncatedSVD(min(N_DIRECTIONS, n_words), random_state=random_state)
    return make_pipeline(words, directions).fit(learned_from).transform(texts).astype(np.float32)


def majority(votes: np.ndarray, n_classes: int) -> np.ndarray:
    """The class that most rules vote for; -1 for a tie, and where none votes  # (n,)"""
    counts = np.stack([(votes == code).sum(axis=1) for code in range(n_classes)], axis=1)
    most = counts.max(axis=1)
    sole = (counts == most[:, None]).sum(axis=1) == 1
    return np.where(sole & (most > 0), counts.argmax(axis=1), -1)
