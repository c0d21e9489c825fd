"""Good and bad errors of numbers told apart, by likelihood.

    P(y_i) = s_0 g(y_i - f_i) + sum_c s_c b_c(y_i)

f is what other rows say, g Student's density with a scale for each row, and b_c are kinds of bad errors
(error_kinds.py). Shares and sizes are the most likely ones, by EM; for a trusted row only g counts. Kinds are dropped
while the likelihood loses less by it than their unknowns are worth (Schwarz 1978).

Good errors have tails too, and g need not have the right ones. How many good rows look as bad as a row is what trusted
rows say: of n trusted rows k do, and a share w of the weak ones. The share r of all good ones that do has the density
r^k (1 - r)^(n - k) on [0, w], and such a row is good with the probability E[r] / w. What g itself says of r counts as
some trusted rows more. Well beyond the farthest trusted row, good errors become rarer as the tails of g do.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc, logsumexp
from scipy.stats import t as student

from safegain.evidence.error_kinds import Factor, Kind, Labels, OneSided, Spread, Swapped, log_t

TAILS = (4.0, 5.0, 7.0, 12.0, 30.0)  # degrees of freedom of good errors that are tried
UNITS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001, -1.0)
FIRST_STEPS, STEPS = 15, 100  # of EM: with all kinds, and with those that are left
SETTLED = 0.05  # of the logarithm of the likelihood: a kind costs some ten times as much
LEAST_ROWS, LEAST_SHARE = 2.0, 1e-3  # that a kind explains
GOOD_AT_FIRST = 0.8
FARTHER = 1.5  # than the farthest trusted row, good errors may be
PRIOR = 100.0  # trusted rows, that what g says of its tails is worth
LEVELS = (0.5, 0.9, 0.99, 0.999)  # how bad a row may look, for trusted rows to be counted that do


@dataclass(frozen=True)
class Errors:
    """Shares are those of the weak rows: of good labels, then of each kind."""

    shares: np.ndarray  # (1 + c,)
    kinds: tuple[Kind, ...]
    scale: float  # of good errors, times that of the row
    df: float  # of good errors
    good_among: tuple[float, ...] = (0.0,) * len(LEVELS)  # of rows that look as bad as that, how many are good
    reach: float = np.inf  # scales beyond which good errors are no more than tails

    def labels(self, y: np.ndarray, predicted: np.ndarray, unit: np.ndarray) -> Labels:
        return Labels(y, predicted, self.scale * unit)

    def parts(self, labels: Labels) -> np.ndarray:
        """The probability that a label is good, then that it looks like each kind  # (1 + c, n)"""
        return np.exp(_log_parts(labels, self.shares, self.kinds, self.df)[0])

    def good(self, labels: Labels) -> np.ndarray:
        """The probability that a label is good  # (n,)"""
        parts = self.parts(labels)
        doubtful = self._doubtful(parts)
        among = np.zeros_like(doubtful)
        for level, share in zip(LEVELS, self.good_among, strict=True):
            among = np.where(doubtful >= level, share, among)
        beyond = np.maximum(np.abs(labels.residual) / (self.reach * labels.scale), 1.0)
        return parts[0] + among * doubtful / beyond**self.df

    def _doubtful(self, parts: np.ndarray) -> np.ndarray:
        """How bad a label looks, by kinds that good errors may look like  # (n,)"""
        return parts[1:][[not kind.certain for kind in self.kinds]].sum(axis=0)

    def suggested(self, labels: Labels) -> np.ndarray:
        """What each label should have been if it is bad: by the likeliest kind  # (n,)"""
        return self._if_bad(labels)[0]

    def interval(self, labels: Labels, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """In which the right number lies if the label is bad, with that probability  # (n,) both"""
        centre, spread = self._if_bad(labels)
        reach = student.ppf((1 + level) / 2, self.df) * spread
        return centre - reach, centre + reach

    def _if_bad(self, labels: Labels) -> tuple[np.ndarray, np.ndarray]:
        if not self.kinds:
            return labels.predicted, labels.scale
        likeliest = self.parts(labels)[1:].argmax(axis=0)
        truths = np.stack([kind.truth(labels) for kind in self.kinds])  # (c, 2, n)
        centre, spread = truths[likeliest, :, np.arange(len(likeliest))].T
        return centre, spread


def fit_errors(
    y: np.ndarray,
    predicted: np.ndarray,
    unit: np.ndarray,
    trusted: np.ndarray,
    random: np.random.RandomState,
    known: np.ndarray | None = None,
) -> Errors:
    """`unit` is how large good errors are, up to a factor; `trusted` rows are a random sample  # (n,) each

    `known` says of weak rows whether their label is good: 1, 0, or NaN where nobody knows.
    """
    weak, residual = ~trusted, np.abs(y - predicted) / unit
    scale = 1.48 * float(np.median(residual[trusted] if trusted.sum() >= 10 else residual)) + 1e-12
    size = float(np.quantile(residual[weak], 0.9) * np.median(unit)) + 2 * scale * float(np.median(unit))
    known = np.full(len(y), np.nan) if known is None else known
    rows, swapped = _Rows(y, predicted, unit, trusted, known), Swapped.among(y, random)
    tried = []
    for sign in (1, -1):  # errors that go both ways are a spread
        kinds = (Spread(size), Spread(10 * size), OneSided(sign, size), *(Factor(by) for by in UNITS), swapped)
        shares = np.r_[GOOD_AT_FIRST, np.full(len(kinds), (1 - GOOD_AT_FIRST) / len(kinds))]
        found, _ = rows.most_likely(Errors(shares, kinds, scale, TAILS[1]), FIRST_STEPS)
        found = _without(found, found.shares[1:] >= max(LEAST_ROWS / weak.sum(), LEAST_SHARE))
        tried.append(_fewest(rows, *rows.most_likely(found, STEPS)))
    return rows.with_tails(max(tried, key=lambda pair: pair[1])[0], random)


def _fewest(rows: "_Rows", found: Errors, likelihood: float) -> tuple[Errors, float]:
    """Without the kinds that the likelihood can do without, the least useful one first; and what it is then worth."""
    price = np.log(len(rows.y)) / 2
    worth = likelihood - price * sum(kind.unknowns for kind in found.kinds)
    while found.kinds:
        fewer = []
        for number in range(len(found.kinds)):
            tried, likelihood = rows.most_likely(_without(found, np.arange(len(found.kinds)) != number), STEPS)
            fewer.append((likelihood - price * sum(kind.unknowns for kind in tried.kinds), tried))
        best, tried = max(fewer, key=lambda pair: pair[0])
        if best < worth:
            break
        found, worth = tried, best
    return found, worth


@dataclass(frozen=True)
class _Rows:
    y: np.ndarray
    predicted: np.ndarray
    unit: np.ndarray
    trusted: np.ndarray
    known: np.ndarray  # 1 or 0 where a weak label is known to be good, or bad; else NaN

    def most_likely(self, found: Errors, steps: int) -> tuple[Errors, float]:
        """By EM; and the logarithm of the likelihood, of trusted rows by their good errors alone."""
        weak, residual = ~self.trusted, (self.y - self.predicted) / self.unit
        likelihood = -np.inf
        for _ in range(steps):
            labels = found.labels(self.y, self.predicted, self.unit)
            log_parts, log_whole = _log_parts(labels, found.shares, found.kinds, found.df)
            parts, before = np.exp(log_parts), likelihood
            good = log_whole + log_parts[0] - np.log(found.shares[0])
            likelihood = float(np.where(weak, log_whole, good).sum())
            parts[1:, self.trusted], parts[0, self.trusted] = 0, 1
            self._tell(parts)
            heard = parts[0] * (found.df + 1) / (found.df + np.square(residual / found.scale))
            scale = float(np.sqrt((heard * np.square(residual)).sum() / parts[0].sum())) + 1e-12
            df = _best_tail(residual, scale, parts[0])
            kinds = tuple(kind.fitted(labels, part) for kind, part in zip(found.kinds, parts[1:], strict=True))
            found = replace(found, shares=parts[:, weak].mean(axis=1), kinds=kinds, scale=scale, df=df)
            if likelihood - before < SETTLED:
                break
        return found, likelihood

    def _tell(self, parts: np.ndarray) -> None:
        """What is known of weak labels takes the place of what is found, where a kind is left that explains it."""
        right, wrong = self.known == 1, self.known == 0
        parts[1:, right], parts[0, right] = 0, 1
        whole = parts[1:].sum(axis=0)
        wrong &= whole > 0
        parts[0, wrong] = 0
        parts[1:, wrong] /= whole[wrong]

    def with_tails(self, found: Errors, random: np.random.RandomState) -> Errors:
        """With what trusted rows say of good errors that look bad."""
        if not found.kinds:
            return found
        doubtful = found._doubtful(found.parts(found.labels(self.y, self.predicted, self.unit)))
        made = found.scale * self.unit * random.standard_t(found.df, len(self.y))
        by_chance = found._doubtful(found.parts(found.labels(self.predicted + made, self.predicted, self.unit)))
        among, n = [1.0], int(self.trusted.sum())
        for level in LEVELS:
            looks = doubtful >= level
            share, k = looks[~self.trusted].mean(), int(looks[self.trusted].sum())
            expected = float((by_chance >= level).mean())
            good = _good_share(share, k + PRIOR * expected, n + PRIOR) / share if share else 1.0
            among.append(min(among[-1], good))
        off = np.abs(self.y - self.predicted)[self.trusted] / (found.scale * self.unit[self.trusted])
        return replace(found, good_among=tuple(among[1:]), reach=FARTHER * float(off.max(initial=1.0)))


def _best_tail(residual: np.ndarray, scale: float, share: np.ndarray) -> float:
    return max(TAILS, key=lambda df: float(share @ log_t(residual, np.asarray(scale), df)))


def _log_parts(labels: Labels, shares: np.ndarray, kinds: tuple[Kind, ...], df: float) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the probabilities of each part, and of the whole  # (1 + c, n), (n,)"""
    densities = [log_t(labels.residual, labels.scale, df), *(kind.log_density(labels, df) for kind in kinds)]
    with np.errstate(divide="ignore"):
        joint = np.stack(densities) + np.log(shares)[:, None]
    whole = logsumexp(joint, axis=0)
    return joint - whole, whole


def _without(found: Errors, stay: np.ndarray) -> Errors:
    shares = found.shares[np.r_[True, stay]]
    kinds = tuple(kind for kind, kept in zip(found.kinds, stay, strict=True) if kept)
    return replace(found, shares=shares / shares.sum(), kinds=kinds)


def _good_share(most: float, k: float, n: float) -> float:
    """E[r] for the density r^k (1 - r)^(n - k) on [0, most]."""
    k = min(k, n)
    whole = betainc(k + 1, n - k + 1, most)
    return (k + 1) / (n + 2) * betainc(k + 2, n - k + 1, most) / whole if whole > 0 else most
