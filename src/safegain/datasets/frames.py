"""A data frame with words and gaps, and the same rows as numbers for models that take nothing else."""

import numpy as np
import pandas as pd

GAP = "gap"


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns, but those that hold words as unordered categories; gaps stay open."""
    words = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(words, "category"))


def one_hot(frame: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """The rows as float64 and the names of the columns  # (n, d)

    A category becomes a 0/1 column for each of its words ("colour=red"), and one for its gaps ("colour gap"). A number
    stays as it is; its gaps get the median of the column, and a 0/1 column says where they were. Labels play no part.
    """
    parts: dict[str, np.ndarray] = {}
    for name in frame.columns:
        column, gaps = frame[name], frame[name].isna().to_numpy()
        if isinstance(column.dtype, pd.CategoricalDtype):
            for word in column.cat.categories:
                parts[f"{name}={word}"] = (column == word).to_numpy(dtype=np.float64)
        else:
            parts[name] = column.fillna(column.median()).to_numpy(dtype=np.float64)
        if gaps.any():
            parts[f"{name} {GAP}"] = gaps.astype(np.float64)
    return np.column_stack(list(parts.values())), list(parts)
