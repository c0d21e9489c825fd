"""Tables of numbers: regression sets in the layout of the LIBSVM page, and classes to tell apart."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from safegain.datasets.files import obtain
from safegain.datasets.origins import LIBSVM, libsvm_table, openml_table


@dataclass(frozen=True)
class Table:
    """What is known of a table, and where it is published: a name on the LIBSVM page or an OpenML number.

    `bounds` are the least and greatest target or, of a table with classes, the least and greatest rows of a class.
    """

    file: str
    rows: int
    columns: str
    bounds: tuple[float, float]
    libsvm: str | None = None
    openml: int | None = None

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.columns.split())

    @property
    def origin(self) -> str:
        if self.libsvm:
            return LIBSVM + self.libsvm
        return f"OpenML data set {self.openml}" if self.openml else "the UCI repository"

    def convert(self, path: Path, classes: bool) -> None:
        """Fetch the table from its origin and write it to `path` in our layout."""
        if self.libsvm:
            frame = libsvm_table(self.libsvm, self.features)
        else:
            assert self.openml is not None
            frame = openml_table(self.openml, self.features)
        self.check(frame, classes)
        frame.to_csv(path, index=False)

    def check(self, frame: pd.DataFrame, classes: bool) -> None:
        """Stands in for a checksum, which is not known of the origin's files: rows, gaps, and the target's bounds."""
        seen = frame["target"].value_counts() if classes else frame["target"]
        bounds = float(seen.min()), float(seen.max())
        if len(frame) != self.rows or not np.allclose(bounds, self.bounds, rtol=1e-3) or frame.isna().any(axis=None):
            raise ValueError(
                f"{self.origin}: {self.rows} rows with bounds {self.bounds} expected, found {len(frame)} with {bounds} "
                f"and {int(frame.isna().sum().sum())} gaps; the set has changed, put our {self.file} into a data folder"
            )


def _numbered(n: int, letter: str = "x") -> str:
    return " ".join(f"{letter}{i}" for i in range(1, n + 1))


ABALONE = "sex length diameter height whole_weight shucked_weight viscera_weight shell_weight"
BODYFAT = "percent_fat age weight height neck chest abdomen hip thigh knee ankle biceps forearm wrist"
CADATA = "median_income housing_median_age total_rooms total_bedrooms population households latitude longitude"
CONCRETE = "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age"
CPUSMALL = "lread lwrite scall sread swrite fork exec rchar wchar runqsz freemem freeswap"
MPG = "cylinders displacement horsepower weight acceleration model_year origin"
SPACE_GA = "ln_pop ln_education ln_houses ln_income xcoord ycoord"

REGRESSION = {
    "abalone": Table("abalone.csv", 4177, ABALONE, (1, 29), libsvm="abalone"),
    "bodyfat": Table("bodyfat_libsvm.csv", 252, BODYFAT, (0.995, 1.1089), libsvm="bodyfat"),
    "cadata": Table("cadata.csv", 20640, CADATA, (14999, 500001), libsvm="cadata"),
    "concrete": Table("concrete.csv", 1030, CONCRETE, (2.33, 82.6)),
    "cpusmall": Table("cpusmall.csv", 8192, CPUSMALL, (0, 99), libsvm="cpusmall"),
    "kin8nm": Table("kin8nm.csv.gz", 8192, _numbered(8, "theta"), (0.0402, 1.4585), openml=189),
    "mg": Table("mg.csv", 1385, _numbered(6), (0.417636, 1.31674), libsvm="mg_scale"),
    "mpg": Table("mpg.csv", 392, MPG, (9, 46.6), libsvm="mpg"),
    "space_ga": Table("space_ga.csv", 3107, SPACE_GA, (-3.057, 0.1001), libsvm="space_ga"),
}
CLASSES = {
    "letter": Table("letter.csv.gz", 20000, _numbered(16), (734, 813), openml=6),
    "pendigits": Table("pendigits.csv.gz", 10992, _numbered(16), (1055, 1144), openml=32),
    "spambase": Table("spambase.csv.gz", 4601, _numbered(57), (1813, 2788), openml=44),
}


def load_regression(name: str, *, scaled: bool = False, data_dir: str | Path | None = None) -> Bunch:
    """A regression set: `data` and `target` float64, `feature_names`. The target of bodyfat is the density.

    With `scaled`, each feature and the target are mapped to [0, 1] by their least and greatest value over all rows.
    """
    table = _lookup(name, REGRESSION)
    frame = _read(table, data_dir, classes=False).astype(np.float64)
    if scaled:
        low, high = frame.min(), frame.max()
        frame = (frame - low) / (high - low).replace(0.0, 1.0)
    return Bunch(
        data=frame.drop(columns="target").to_numpy(),
        target=frame["target"].to_numpy(),
        feature_names=list(table.features),
    )


def load_table(name: str, *, data_dir: str | Path | None = None) -> Bunch:
    """A classification set: `data` float64, `target` as numbers of `class_names`, `feature_names`."""
    table = _lookup(name, CLASSES)
    frame = _read(table, data_dir, classes=True)
    names, target = np.unique(frame["target"].to_numpy().astype(str), return_inverse=True)
    return Bunch(
        data=frame.drop(columns="target").to_numpy(dtype=np.float64),
        target=target.astype(np.int64),
        class_names=names.tolist(),
        feature_names=list(table.features),
    )


def _lookup(name: str, known: dict[str, Table]) -> Table:
    if name not in known:
        raise ValueError(f"name: {name!r} is not known; choose one of {', '.join(sorted(known))}")
    return known[name]


def _read(table: Table, data_dir: str | Path | None, classes: bool) -> pd.DataFrame:
    published = table.libsvm is not None or table.openml is not None
    convert = (lambda path: table.convert(path, classes)) if published else None
    return pd.read_csv(obtain(table.file, data_dir=data_dir, convert=convert, origin=table.origin))
