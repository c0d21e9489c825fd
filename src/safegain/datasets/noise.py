"""Makers of untrusted labels. Each returns new labels and leaves those it was given, and global generators, alone."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata, truncnorm

Seed = int | np.random.Generator | None
RATE_SPREAD = 0.1  # standard deviation of the rows' own flip rates, as in Xia et al. (2020)


def uniform_flips(
    y: ArrayLike, rate: float, *, classes: ArrayLike | None = None, random_state: Seed = None
) -> np.ndarray:
    """Each label is replaced, with probability `rate`, by any other class, all equally likely."""
    names, _ = _codes(y, classes)
    matrix = np.full((len(names), len(names)), _share("rate", rate) / (len(names) - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return transition_flips(y, matrix, classes=names, random_state=random_state)


def pair_flips(y: ArrayLike, rate: float, *, classes: ArrayLike | None = None, random_state: Seed = None) -> np.ndarray:
    """Each label is replaced, with probability `rate`, by the next class; after the last comes the first."""
    names, _ = _codes(y, classes)
    stay = np.eye(len(names))
    matrix = (1 - _share("rate", rate)) * stay + rate * np.roll(stay, 1, axis=1)
    return transition_flips(y, matrix, classes=names, random_state=random_state)


def transition_flips(
    y: ArrayLike, matrix: ArrayLike, *, classes: ArrayLike | None = None, random_state: Seed = None
) -> np.ndarray:
    """A label of class i becomes j with probability matrix[i, j]; classes in the order of `classes`, or sorted."""
    names, codes = _codes(y, classes)
    chances = np.asarray(matrix, dtype=np.float64)
    if chances.shape != (len(names), len(names)):
        raise ValueError(f"matrix: {len(names)} classes need as many rows and columns, got shape {chances.shape}")
    if not (chances >= 0).all() or not np.allclose(chances.sum(axis=1), 1):
        raise ValueError("matrix: entries must be probabilities that sum to one in each row")
    upper = chances.cumsum(axis=1)
    upper /= upper[:, -1:]  # the last bound is one exactly, so that no draw falls beyond it
    draws = np.random.default_rng(random_state).random(len(codes))
    return names[(upper[codes] <= draws[:, None]).sum(axis=1)]


def instance_flips(
    X: ArrayLike, y: ArrayLike, rate: float, *, classes: ArrayLike | None = None, random_state: Seed = None
) -> np.ndarray:
    """Flips that depend on the row: each has its own rate, and the wrong class that it looks most like.

    After Xia et al. (2020): rates are drawn from a normal around `rate`, cut off at equal distance on both sides
    so that their mean is `rate`; likeness is a random linear map of the centred row, one map for each true class.
    Two classes leave no choice of the wrong one, and such flips would be uniform: there the row decides its rate
    instead, which rises along the map from one end of the class to the other, on the same side of one half.
    """
    names, codes = _codes(y, classes)
    rows = np.asarray(X, dtype=np.float64)
    if len(rows) != len(codes):
        raise ValueError(f"X: has {len(rows)} rows, but y has {len(codes)}; make them equal")
    random = np.random.default_rng(random_state)
    _share("rate", rate)
    rows = (rows - rows.mean(axis=0)).reshape(len(rows), -1)
    if len(names) == 2:
        return names[np.where(random.random(len(codes)) < _rising_rates(rows, codes, rate, random), 1 - codes, codes)]
    reach = min(rate, 1 - rate) / RATE_SPREAD
    spread = truncnorm.rvs(-reach, reach, size=len(codes), random_state=random) if reach else 0.0
    flipped = random.random(len(codes)) < rate + RATE_SPREAD * spread
    given = codes.copy()
    for code in range(len(names)):
        likeness = random.standard_normal((rows.shape[1], len(names)))
        here = flipped & (codes == code)
        scores = rows[here] @ likeness
        scores[:, code] = -np.inf
        given[here] = scores.argmax(axis=1)
    return names[given]


def _rising_rates(rows: np.ndarray, codes: np.ndarray, rate: float, random: np.random.Generator) -> np.ndarray:
    """Rates with mean `rate`, evenly spaced by the order of a class's rows along a random direction  # (n,)"""
    reach, rates = min(rate, 1 - rate, abs(0.5 - rate)), np.empty(len(codes))
    for code in (0, 1):
        here = codes == code
        order = rankdata(rows[here] @ random.standard_normal(rows.shape[1]))
        rates[here] = rate + reach * ((2 * order - 1) / max(here.sum(), 1) - 1)
    return rates


def gaussian_noise(y: ArrayLike, sigma: float, *, fraction: float = 0.5, random_state: Seed = None) -> np.ndarray:
    """Normal noise of standard deviation `sigma` on a random `fraction` of the rows."""
    random = np.random.default_rng(random_state)
    return _disturb(y, _positive("sigma", sigma) * random.standard_normal(np.shape(y)), fraction, random)


def laplace_noise(y: ArrayLike, scale: float, *, fraction: float = 0.5, random_state: Seed = None) -> np.ndarray:
    """Laplace noise of mean size `scale` on a random `fraction` of the rows."""
    random = np.random.default_rng(random_state)
    return _disturb(y, random.laplace(scale=_positive("scale", scale), size=np.shape(y)), fraction, random)


def heavy_tailed_noise(
    y: ArrayLike, scale: float, *, df: float = 1.5, fraction: float = 0.5, random_state: Seed = None
) -> np.ndarray:
    """Student-t noise times `scale` on a random `fraction` of the rows; up to two degrees of freedom, no variance."""
    random = np.random.default_rng(random_state)
    noise = _positive("scale", scale) * random.standard_t(_positive("df", df), size=np.shape(y))
    return _disturb(y, noise, fraction, random)


def one_sided_noise(y: ArrayLike, scale: float, *, fraction: float = 0.5, random_state: Seed = None) -> np.ndarray:
    """Exponential noise of mean `scale`, upwards, on a random `fraction` of the rows."""
    random = np.random.default_rng(random_state)
    return _disturb(y, random.exponential(_positive("scale", scale), size=np.shape(y)), fraction, random)


def unit_mistakes(
    y: ArrayLike,
    *,
    factors: ArrayLike = (10.0, 100.0, 1000.0, 0.1, -1.0),
    fraction: float = 0.1,
    random_state: Seed = None,
) -> np.ndarray:
    """A random `fraction` of the rows written in another unit, or with the wrong sign: times one of the factors."""
    random, right = np.random.default_rng(random_state), np.asarray(y, dtype=np.float64)
    times = random.choice(np.asarray(factors, dtype=np.float64), right.shape)
    return _disturb(right, (times - 1) * right, fraction, random)


def swapped_labels(y: ArrayLike, *, fraction: float = 0.1, random_state: Seed = None) -> np.ndarray:
    """A random `fraction` of the rows have each other's labels: each that of the next of them, in random order."""
    random = np.random.default_rng(random_state)
    swapped = np.array(y)
    rows = random.permutation(len(swapped))[: round(_share("fraction", fraction) * len(swapped))]
    swapped[rows] = swapped[np.roll(rows, 1)]
    return swapped


def gross_outliers(y: ArrayLike, *, reach: float = 3.0, fraction: float = 0.1, random_state: Seed = None) -> np.ndarray:
    """A random `fraction` of the rows moved, up or down, by one to `reach` times the range of y."""
    if not reach >= 1:
        raise ValueError(f"reach: must be at least 1, got {reach!r}")
    random = np.random.default_rng(random_state)
    shape = np.shape(y)
    noise = np.ptp(np.asarray(y)) * random.uniform(1, reach, shape) * random.choice([-1.0, 1.0], shape)
    return _disturb(y, noise, fraction, random)


def hide_labels(y: ArrayLike, labelled: float = 0.4, *, random_state: Seed = None) -> np.ndarray:
    """Keep a random share `labelled` of the labels; the others become -1 (whole numbers) or NaN (floats)."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"y: only numbers can be hidden as -1 or NaN, got dtype {labels.dtype}; number the classes")
    if labels.dtype.kind != "f" and (labels == -1).any():
        raise ValueError("y: -1 is a class here but marks a row without a label; number the classes from 0")
    hidden = labels.astype(np.int64 if labels.dtype.kind == "u" else labels.dtype)
    n_hidden = len(labels) - round(_share("labelled", labelled) * len(labels))
    rows = np.random.default_rng(random_state).permutation(len(labels))[:n_hidden]
    hidden[rows] = np.nan if labels.dtype.kind == "f" else -1
    return hidden


def _disturb(y: ArrayLike, noise: np.ndarray, fraction: float, random: np.random.Generator) -> np.ndarray:
    noisy = np.array(y, dtype=np.float64)
    rows = random.permutation(len(noisy))[: round(_share("fraction", fraction) * len(noisy))]
    noisy[rows] += noise[rows]
    return noisy


def _codes(y: ArrayLike, classes: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """The classes, in order, and each label's number among them."""
    labels = np.asarray(y)
    names = np.unique(labels) if classes is None else np.asarray(classes)
    if len(names) < 2 or len(np.unique(names)) < len(names):
        raise ValueError(f"classes: at least two, all different, are needed to flip labels, got {names.tolist()}")
    order = np.argsort(names)
    codes = order[np.searchsorted(names, labels, sorter=order).clip(max=len(names) - 1)]
    if (strange := names[codes] != labels).any():
        raise ValueError(f"y: label {labels[strange].tolist()[0]!r} is not one of the classes {names.tolist()}")
    return names, codes


def _share(argument: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{argument}: must lie between 0 and 1, got {value!r}")
    return value


def _positive(argument: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise ValueError(f"{argument}: must be a number above zero, got {value!r}")
    return value
