"""A table for the examples beside this file: `python examples/noisy_digits.py rows`, a folder of Parquet files."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits


def write(folder: str) -> None:
    """Digits, of which a fifth is trusted, and two fifths of the others have a wrong label."""
    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    trusted = random.random(len(y)) < 0.2
    wrong = ~trusted & (random.random(len(y)) < 0.4)
    table = pd.DataFrame(X).add_prefix("pixel").assign(label=np.where(wrong, (y + 1) % 10, y), trusted=trusted)
    Path(folder).mkdir(parents=True)
    for number in range(3):
        table[number * 600 : (number + 1) * 600].to_parquet(f"{folder}/{number}.parquet")


if __name__ == "__main__":
    write(*sys.argv[1:])
