"""YouTube comments, spam or not, with the majority vote of ten labelling functions as weak labels.

Test rows are the file's own; weak and trusted rows are drawn from all others. Words become tf-idf, fitted on the rows
that are trained on, and its leading singular directions, since the networks take dense rows.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from safegain.datasets import WeakProblem, load_youtube

N_DIRECTIONS = 200


@cache
def _comments() -> Any:
    return load_youtube()


def problem(setting: Mapping[str, Any], seed: int, *, quick: bool = False) -> WeakProblem:
    comments = _comments()
    vote, test = majority(comments.weak_labels), comments.split == "test"
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(~test))
    trusted, weak = np.split(rows, [setting["n_trusted"]])
    weak = weak[vote[weak] >= 0]
    order = np.concatenate([weak, trusted])
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    features = make_pipeline(words, TruncatedSVD(N_DIRECTIONS, random_state=seed)).fit(comments.text[order])
    return WeakProblem(
        X=features.transform(comments.text[order]).astype(np.float32),
        y=np.concatenate([vote[weak], comments.target[trusted]]),
        true=comments.target[order],
        trusted=np.arange(len(order)) >= len(weak),
        X_test=features.transform(comments.text[test]).astype(np.float32),
        y_test=comments.target[test],
    )


def majority(votes: np.ndarray) -> np.ndarray:
    """The class that most functions vote for; -1 for a tie, and where none votes."""
    lead = (votes == 1).sum(axis=1) - (votes == 0).sum(axis=1)
    return np.where(lead == 0, -1, (lead > 0).astype(np.int64))
