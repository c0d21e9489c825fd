"""How many more trusted rows would settle it, from what was seen so far."""

import math

from scipy.special import ndtri

from safegain.certificates.power import fewest_rows, required_trusted
from safegain.report.comparison import Standing, fell_back
from safegain.report.words import number
from safegain.runs.certificate_facts import Certificate, Entry
from safegain.runs.facts import Facts

DELTA, POWER = 0.05, 0.8


def rows_that_would_settle(
    facts: Facts, standings: list[Standing], disagree: float | None, later: list[Certificate]
) -> str | None:
    """One sentence, or None where it is settled or nothing can be said. `later` are certificates made after the fit.

    `disagree` is the share of rows that new model and reference predict differently: at most so many can be won.
    """
    certificate = later[-1] if later else facts.certificate
    if any(each.certified for each in (facts.certificate, *later) if each is not None):
        return None
    if certificate is not None and certificate.entries:
        return _after_a_test(max(certificate.entries, key=lambda entry: entry.p_value))
    by_role = {standing.role: standing for standing in standings}
    if not {"reference", "new"} <= by_role.keys() or fell_back(facts):
        return None
    if facts.task == "numbers":  # there is no telling without errors row by row
        return "A first test on about a hundred carefully labelled fresh rows would show how many a proof takes."
    if disagree is None:
        return None
    gain = (by_role["new"].value - by_role["reference"].value) / 100
    return _for_a_gain(gain, max(disagree, gain), DELTA, "on the compared rows")


def _after_a_test(entry: Entry) -> str:
    n, gain, delta, tolerance = entry.n, entry.gain, entry.delta, entry.tolerance
    fewest = fewest_rows(delta, tolerance / entry.bound)
    if n < fewest:
        return f"{n:,} fresh rows are too few for a proof at this level: it takes at least {fewest:,}."
    if gain <= -tolerance or entry.won == entry.lost == 0:
        return (
            "The fresh rows showed no gain, so more of them are unlikely to settle it. "
            "More trusted rows to learn from may: check labels and fit again."
        )
    if entry.test == "sign test":
        return _for_a_gain(gain, (entry.won + entry.lost) / n, delta, "on the fresh rows")
    # How far the bound lies below the gain shrinks with the root of n; the second factor turns even odds into 4 in 5.
    room = (gain - entry.lower_bound) / (gain + tolerance)
    odds = (ndtri(1 - delta) + ndtri(POWER)) / ndtri(1 - delta)
    needed = math.ceil(n * (room * odds) ** 2)
    return (
        f"If the new model is really better by {number(gain)}, as seen here, roughly {_rounded(needed)} fresh trusted "
        "rows would prove it 4 times out of 5."
    )


def _for_a_gain(gain: float, discordance: float, delta: float, where: str) -> str:
    if gain <= 0:
        return (
            f"There was no gain {where} to confirm. More trusted rows to learn from may bring one: "
            "check labels and fit again."
        )
    needed = required_trusted(gain, min(discordance, 1.0), delta, POWER)
    return (
        f"If the new model is really better by {number(100 * gain, 2)} of 100 rows, as seen {where}, about "
        f"{_rounded(needed)} fresh trusted rows would prove it 4 times out of 5. For half that gain, "
        f"it takes about {_rounded(required_trusted(gain / 2, min(discordance, 1.0), delta, POWER))}."
    )


def _rounded(n: int) -> str:
    """Two digits, upwards: it is a guess."""
    step = 10 ** max(0, len(str(n)) - 2)
    return f"{math.ceil(n / step) * step:,}"
