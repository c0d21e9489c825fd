"""Columns of free text: TF-IDF of words and pairs of words, and its principal directions where there are many."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from safegain.encoding.block import Block, comparable_scale, is_array
from safegain.encoding.columns import Values, as_texts, blocks, some_rows, take

MOST_TERMS = 20_000
MOST_DENSE = 500  # terms; more are reduced
MOST_COMPONENTS = 256
MOST_FITTED = 100_000  # texts that terms and directions are learned from
TEXTS_AT_ONCE = 4096


def least_texts(n: int) -> int:
    """In how many texts a term must be. A term of one text says nothing of others, but few texts have few terms."""
    return 1 if n < 100 else 2 if n < 10_000 else 5


def _vectorizer(**learned: object) -> TfidfVectorizer:
    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32, **learned)


@dataclass(frozen=True, eq=False)
class Text(Block):
    """Unit rows of TF-IDF, or their products with `components`, divided by `scale`."""

    terms: np.ndarray  # uint8: in the order of their columns, UTF-8, a line each; none has a line break
    idf: np.ndarray
    components: np.ndarray | None  # (k, n_terms)
    scale: float

    @classmethod
    def fit(cls, name: str, values: Values, *, mixed: bool, random_state: int) -> "Text":
        some = as_texts(name, take(values, some_rows(len(values), MOST_FITTED, random_state)))
        vectorizer = _vectorizer(max_features=MOST_TERMS, min_df=least_texts(len(some)))
        try:
            rows = vectorizer.fit_transform(some)
        except ValueError:  # scikit-learn's word for it: no term is left
            return cls(name, np.empty(0, np.uint8), np.empty(0, np.float32), None, 1.0)
        components, spreads = None, _spreads(rows)
        if rows.shape[1] > MOST_DENSE:
            k = max(min(MOST_COMPONENTS, len(some) - 1), 1)
            with np.errstate(invalid="ignore"):  # its ratio of variances, where all texts are the same
                svd = TruncatedSVD(k, random_state=random_state).fit(rows)
            components, spreads = np.ascontiguousarray(svd.components_), np.sqrt(svd.explained_variance_)
        terms = "\n".join(vectorizer.get_feature_names_out()).encode()
        scale = comparable_scale(spreads) if mixed else 1.0
        return cls(name, np.frombuffer(terms, dtype=np.uint8), vectorizer.idf_, components, scale)

    @property
    def _terms(self) -> list[str]:
        return self.terms.tobytes().decode().split("\n") if len(self.terms) else []

    @cached_property
    def _fitted(self) -> TfidfVectorizer:
        vectorizer = _vectorizer(vocabulary=self._terms)
        vectorizer.idf_ = self.idf
        return vectorizer

    @property
    def columns(self) -> list[str]:
        if self.components is not None:
            return [f"{self.name} {j}" for j in range(len(self.components))]
        return [f"{self.name}: {term}" for term in self._terms]

    def write(self, values: Values, out: np.ndarray, folder: str | None) -> None:
        if not len(self.idf):
            return
        for start, part in blocks(values, TEXTS_AT_ONCE):
            rows = self._fitted.transform(as_texts(self.name, part))
            dense = rows.toarray() if self.components is None else rows @ self.components.T
            np.divide(dense, np.float32(self.scale), out=out[start : start + len(part)])

    def fits_together(self) -> bool:
        if self.terms.ndim != 1 or self.terms.dtype != np.uint8 or not self.scale > 0:
            return False
        n = len(terms := self._terms)
        reduced = self.components is None or (n > 0 and is_array(self.components, None, n))
        return len(set(terms)) == n and is_array(self.idf, n) and reduced


def _spreads(rows: scipy.sparse.csr_matrix) -> np.ndarray:
    """Standard deviations of the columns."""
    squares, means = (np.asarray(part.mean(axis=0), dtype=np.float64).ravel() for part in (rows.multiply(rows), rows))
    return np.sqrt(np.maximum(squares - np.square(means), 0))
