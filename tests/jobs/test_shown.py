import json

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.neighbors import NearestNeighbors

from safegain.jobs.shown import choose_examples, example_frame, nearest_trusted


def test_shown_rows_are_weak_and_each_has_a_reason():
    n = 20_000
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "trusted": random.random(n) < 0.2,
            "suspicion": random.random(n),
            "effect": random.random(n),
            "disagrees": random.random(n) < 0.1,
        }
    )
    chosen = choose_examples(table)
    weak = table[~table["trusted"]]
    assert set(weak.nlargest(2000, "suspicion").index) <= set(chosen)
    assert set(weak.nlargest(500, "effect").index) <= set(chosen)
    assert not table["trusted"][chosen].any()
    assert len(chosen) <= 3500
    rest = set(chosen) - set(weak.nlargest(2000, "suspicion").index) - set(weak.nlargest(500, "effect").index)
    assert sum(table["disagrees"][list(rest)]) >= 350
    assert len(rest) - sum(table["disagrees"][list(rest)]) >= 300
    assert chosen.tolist() == choose_examples(table).tolist()
    assert choose_examples(table[:30].assign(suspicion=0.0)).tolist() == np.flatnonzero(~table["trusted"][:30]).tolist()


def test_neighbours_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    X = (random.normal(size=(900, 6)) * [1, 10, 100, 1, 1, 0]).astype(np.float32)
    trusted, asked = np.arange(500, 900), np.arange(0, 300)
    found = nearest_trusted(X, asked, trusted)
    scale = X[trusted].astype(float).std(axis=0)
    scale[scale == 0] = 1
    oracle = NearestNeighbors(n_neighbors=3).fit(X[trusted] / scale)
    distance, near = oracle.kneighbors(X[asked] / scale)
    assert found["neighbour"].tolist() == trusted[near].ravel().tolist()
    np.testing.assert_allclose(found["distance"], distance.ravel(), rtol=1e-6)
    assert found["place"].tolist() == [1, 2, 3] * 300
    assert len(nearest_trusted(X, asked[:2], trusted[:2])) == 4


def test_values_are_told_as_text():
    columns = {
        "town": pa.chunked_array([["Ulm", None], ["x" * 5000]]),
        "age": pa.chunked_array([[1, 2], [3]]),
        "pay": np.array([0.5, np.nan, 2.0]),
        "vector": np.arange(30.0).reshape(3, 10),
        "photo": np.zeros((3, 4, 4), np.uint8),
    }
    found = example_frame(columns, np.array([2, 1]), [b"png", None])
    first, second = map(json.loads, found["values"])
    assert list(first) == ["town", "age", "pay", "vector"]
    assert first["town"] == "x" * 2000 + "… (5,000 characters)"
    assert second == {"town": "", "age": "2", "pay": "", "vector": "10 11 12 13 14 15 16 17 ... (10 numbers)"}
    assert found["row"].tolist() == [2, 1]
    assert found["picture"].tolist() == [b"png", None]
