"""Named columns of several kinds to one matrix, as a scikit-learn transformer that is stored without pickle."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from safegain.data.kinds import KINDS, Kind
from safegain.encoding.block import Block
from safegain.encoding.categories import Category
from safegain.encoding.columns import Values, column_of, n_rows
from safegain.encoding.images import Patches, Pixels, fit_pictures
from safegain.encoding.numbers import Array, Number
from safegain.encoding.texts import Text

IMAGE_FEATURES = ("auto", "patches", "pixels")
BLOCKS: dict[str, type[Block]] = {kind.__name__: kind for kind in (Number, Category, Text, Array, Pixels, Patches)}


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a mapping of columns, or a data frame, as one float32 matrix.

    Columns that are not in `kinds` are left out. Numbers are centred. A network divides all columns by one number, so
    in a table of several kinds they are brought to comparable size: numbers to standard deviation one, a block of
    texts, arrays or images as a whole.

    Parameters
    ----------
    kinds : dict of str to {"number", "category", "text", "image", "array"}
        The kind of every column that is to be used. Their order is that of the result.
    folder : str or None, default=None
        Where paths of images are relative to; a path that leads out of it is refused.
    image_features : {"auto", "patches", "pixels"}, default="auto"
        "auto" learns features of patches from 500 or more coloured pictures of at least 16 x 16 pixels.
    random_state : int, default=0

    Attributes
    ----------
    blocks_ : list of Block
        What was learned of each column.
    feature_names_in_ : ndarray of str
    """

    def __init__(
        self,
        kinds: dict[str, Kind],
        *,
        folder: str | None = None,
        image_features: Literal["auto", "patches", "pixels"] = "auto",
        random_state: int = 0,
    ) -> None:
        self.kinds = kinds
        self.folder = folder
        self.image_features = image_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn medians, categories, terms and features of the rows of X; y is not used."""
        self._check_parameters()
        if n_rows(X, self.kinds) == 0:
            raise ValueError("X: has no rows; give some to learn from")
        mixed = len(self.kinds) > 1 and set(self.kinds.values()) != {"number"}
        blocks = [self._fitted(name, kind, column_of(X, name), mixed) for name, kind in self.kinds.items()]
        if not any(block.columns for block in blocks):
            raise ValueError(
                f"X: nothing is left to encode in {list(self.kinds)}: the texts hold no words; add other columns"
            )
        self.blocks_ = blocks
        return self

    def _fitted(self, name: str, kind: Kind, values: Values, mixed: bool) -> Block:
        if kind == "number":
            return Number.fit(name, values, mixed=mixed)
        if kind == "category":
            return Category.fit(name, values)
        if kind == "array":
            return Array.fit(name, values, mixed=mixed)
        if kind == "text":
            return Text.fit(name, values, mixed=mixed, random_state=self.random_state)
        return fit_pictures(
            name,
            values,
            folder=self.folder,
            features=self.image_features,
            mixed=mixed,
            random_state=self.random_state,
        )

    def transform(self, X: Any) -> np.ndarray:
        """float32 (n, d); the result is allocated once, and filled column by column."""
        check_is_fitted(self)
        out = np.empty((n_rows(X, self.kinds), len(self.get_feature_names_out())), dtype=np.float32)
        start = 0
        for block in self.blocks_:
            end = start + len(block.columns)
            block.write(column_of(X, block.name), out[:, start:end], self.folder)
            start = end
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        check_is_fitted(self)
        return np.array([name for block in self.blocks_ for name in block.columns], dtype=object)

    @property
    def feature_names_in_(self) -> np.ndarray:
        check_is_fitted(self)
        return np.array([block.name for block in self.blocks_], dtype=object)

    @property
    def n_features_in_(self) -> int:
        return len(self.feature_names_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "blocks_")

    def _check_parameters(self) -> None:
        if not isinstance(self.kinds, Mapping) or not self.kinds:
            raise ValueError(f"kinds: must name at least one column and its kind, got {self.kinds!r}")
        for name, kind in self.kinds.items():
            if not isinstance(name, str) or kind not in KINDS:
                raise ValueError(f"kinds: {name!r} has kind {kind!r}; use a name and one of {', '.join(KINDS)}")
        if self.image_features not in IMAGE_FEATURES:
            raise ValueError(
                f"image_features: {self.image_features!r} is not known; choose one of {', '.join(IMAGE_FEATURES)}"
            )
        if not isinstance(self.folder, str | PathLike | None):
            raise ValueError(f"folder: must be a path or None, got {self.folder!r}")
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(f"random_state: must be a whole number, got {self.random_state!r}")

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What was learned, as facts for a JSON file and arrays with names for a safetensors file."""
        check_is_fitted(self)
        blocks: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray] = {}
        for i, block in enumerate(self.blocks_):
            facts, numbers = block.state()
            blocks.append({"block": type(block).__name__, **facts})
            arrays |= {f"{i}.{name}": array for name, array in numbers.items()}
        parameters = {**self.get_params(deep=False), "folder": None if self.folder is None else str(self.folder)}
        return {"parameters": parameters, "blocks": blocks}, arrays

    @classmethod
    def from_state(cls, facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> "TableEncoder":
        """The encoder that `state` was asked of: it transforms to the same bits."""
        try:
            encoder = cls(**facts["parameters"])
            encoder._check_parameters()
            encoder.blocks_ = [_restored(i, block, arrays) for i, block in enumerate(facts["blocks"])]
            if [block.name for block in encoder.blocks_] != list(encoder.kinds):
                raise ValueError("its blocks do not match its columns")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"state: is not that of a TableEncoder ({error}); save it again") from None
        return encoder


def _restored(i: int, facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Block:
    mine = {name.removeprefix(f"{i}."): array for name, array in arrays.items() if name.startswith(f"{i}.")}
    return BLOCKS[facts["block"]].restored({name: fact for name, fact in facts.items() if name != "block"}, mine)
