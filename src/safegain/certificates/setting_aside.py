"""Which trusted rows are set aside for the certificate of a fit: a simple random sample of rows that nothing repeats.

Rows that are alike (as encoded, after rounding) may be copies, so they stay on one side. A trusted row that is like a
row outside the random sample is not set aside at all: a model that memorises its rows would know its label. Of trusted
rows that are like each other all are set aside or none, and one of them, drawn at random, is tested. So the certificate
is about rows that are unlike those of the fit, each counted once.
"""

import numpy as np

from safegain.certificates.claims import Claims
from safegain.certificates.ledger import Ledger
from safegain.certificates.power import fewest_rows
from safegain.data.digest import among, clusters
from safegain.data.labels import Labels
from safegain.data.parts import Aside


def drawn_aside(
    claims: Claims,
    every: np.ndarray,  # (n, 2) digests of the rows
    earlier: Ledger,
    sample: np.ndarray,  # (n,) bool: trusted rows that are a random sample
    labels: Labels,
    groups: np.ndarray | None,
    random: np.random.RandomState,
) -> Aside:
    """The rows of all ranks are drawn from, by each rank in the same way, and each keeps what it holds."""
    claims.check_fit(labels, groups)
    level = earlier.level(claims.delta)  # that of its test: an error before anything is learned, if none is left
    ranks = labels.ranks
    counts = ranks.gather(int(sample.sum()))
    if not (n := sum(counts)):
        raise ValueError(
            "certificate: no trusted row is one of a random sample; check some rows that are drawn at random"
        )
    D = np.concatenate(ranks.gather(every[sample]))
    learned = np.any(ranks.gather(among(D, every[~sample])), axis=0)
    elsewhere = learned | among(D, earlier.tested)
    cluster = clusters(D)
    fewest, at_level = fewest_rows(level), claims.with_params(delta=level)
    wanted = max(claims.n_rows(n), fewest) if claims.size is None else at_level.n_rows(n)
    drawn = _drawn(cluster, elsewhere, wanted, random)
    found = int(drawn.tested.sum())
    if found < fewest:
        raise ValueError(
            f"certificate: only {found} of {n} trusted rows can be set aside; {int(elsewhere.sum())} repeat rows that "
            "are learned from or were tested before, and copies count once. Level "
            f"{level:.3g} takes at least {fewest}: label more"
        )
    if drawn.rows.all():
        raise ValueError(f"certificate: all {n} trusted rows would be set aside; lower size, or label more")
    first = sum(counts[: ranks.rank])
    masks = [np.zeros(len(labels), dtype=bool) for _ in range(2)]
    for mask, part in zip(masks, (drawn.rows, drawn.tested), strict=True):
        mask[sample] = part[first : first + counts[ranks.rank]]
    aside = Aside(masks[0], masks[1], repeats=int((learned | (np.bincount(cluster)[cluster] > 1)).sum()))
    _check_each_is_tested(claims, aside, labels, groups)
    return aside


def _drawn(cluster: np.ndarray, elsewhere: np.ndarray, n: int, random: np.random.RandomState) -> Aside:
    """n of the clusters without a row that is elsewhere too, or all there are; one row of each is tested."""
    _, first, which = np.unique(cluster, return_index=True, return_inverse=True)
    cluster = first[
        which
    ]  # named by their first row, so that what is drawn depends on what repeats and on nothing else
    free = np.setdiff1d(cluster, cluster[elsewhere])
    rows = np.isin(cluster, random.permutation(free)[:n])
    order = random.permutation(np.flatnonzero(rows))
    tested = np.zeros(len(cluster), dtype=bool)
    tested[order[np.unique(cluster[order], return_index=True)[1]]] = True
    return Aside(rows, tested)


def _check_each_is_tested(claims: Claims, aside: Aside, labels: Labels, groups: np.ndarray | None) -> None:
    """A class or group that a claim was asked for needs a row: what is not tested is not claimed."""
    asked = {}
    if claims.per_class and labels.classes is not None:
        asked["class"] = (labels.classes[labels.numbers], labels.labelled)
    if claims.per_group and groups is not None:
        asked["group"] = (groups, np.ones(len(groups), dtype=bool))
    for what, (names, known) in asked.items():
        gather = labels.ranks.gather
        there = np.unique(np.concatenate(gather(names[known])))
        tested = np.concatenate(gather(names[aside.tested]))
        if len(lost := np.setdiff1d(there, tested)):
            raise ValueError(
                f"certificate: per_{what}=True asks for a claim about {what} {lost[0]!r}, and no row of it was set "
                f"aside; trust more of its rows, raise size, or leave per_{what} out"
            )
