"""Columns and tables to encode."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from safetensors.numpy import load, save

from safegain.encoding import TableEncoder


def arrow(values: list, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """A column in two chunks."""
    half = len(values) // 2
    whole = pa.array(values, kind)
    return pa.chunked_array([whole[:half], whole[half:]])


def encode(kind: str, values, **options) -> np.ndarray:
    return TableEncoder({"c": kind}, **options).fit_transform({"c": values})


def stored(encoder: TableEncoder) -> TableEncoder:
    facts, arrays = encoder.state()
    return TableEncoder.from_state(json.loads(json.dumps(facts)), load(save(arrays)))


WORDS = [f"w{i}" for i in range(40)]


def sentences(n: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(0, 12))) for _ in range(n)]


def mixed_table(n: int = 300, seed: int = 0) -> dict:
    random = np.random.default_rng(seed)
    return {
        "age": arrow([None if i % 9 == 0 else float(20 + i % 50) for i in range(n)]),
        "member": arrow([bool(i % 3) for i in range(n)]),
        "town": arrow([None if i % 11 == 0 else f"t{int(random.integers(60))}" for i in range(n)]),
        "words": arrow(sentences(n, seed)),
        "vector": np.where(random.random((n, 4)) < 0.1, np.nan, random.normal(size=(n, 4))),
        "face": random.integers(0, 256, (n, 5, 6, 3), dtype=np.uint8),
        "unused": arrow([object.__name__] * n),
    }


MIXED_KINDS = {
    "age": "number",
    "member": "number",
    "town": "category",
    "words": "text",
    "vector": "array",
    "face": "image",
}


def random_pictures(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def write_pictures(folder: Path, some: np.ndarray, suffix: str = "png") -> list[str]:
    (folder / "in").mkdir(exist_ok=True)
    for i, picture in enumerate(some):
        Image.fromarray(picture).save(folder / "in" / f"{i}.{suffix}")
    return [f"in/{i}.{suffix}" for i in range(len(some))]


def refused(facts, arrays, damage) -> None:
    facts, arrays = json.loads(json.dumps(facts)), dict(arrays)
    TableEncoder.from_state(facts, arrays)
    damage(facts, arrays)
    with pytest.raises(ValueError, match="state: is not that of a TableEncoder"):
        TableEncoder.from_state(facts, arrays)


def flat_kinds() -> dict:
    return {name: kind for name, kind in MIXED_KINDS.items() if kind not in ("array", "image")}


def as_frame(table: dict) -> pd.DataFrame:
    frame = pd.DataFrame({name: table[name].to_pandas() for name in flat_kinds()})
    return frame.set_index(frame.index + 5)
