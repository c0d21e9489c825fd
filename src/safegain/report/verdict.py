"""What was found and what to do now, in words that take no statistics to read."""

from dataclasses import dataclass

from safegain.report.comparison import Standing
from safegain.report.words import chance, count, cut, number
from safegain.runs.certificate_facts import Certificate, Entry
from safegain.runs.facts import Facts

TRAINED_ON = {
    "raw": "your labels as they are",
    "raw+trusted": "your labels and the trusted rows together",
    "trusted": "the trusted rows alone",
}
OUTCOMES = {"improved": "Improved", "safe": "Safe", "fell back": "Fell back"}


@dataclass(frozen=True)
class Advice:
    sentence: str
    command: str


@dataclass(frozen=True)
class Verdict:
    outcome: str
    badge: str
    headline: str
    grounds: list[str]  # what it rests on, and how far that goes
    advice: list[Advice]  # what to do now
    said: str | None  # the sentence of the fit, where the grounds do not have it


def verdict(facts: Facts, standings: list[Standing], later: list[Certificate], run: str) -> Verdict:
    """`later` are certificates made after the fit; `run` is the folder as a command line takes it."""
    found, outcome, said, reference = facts.verdict, "unknown", None, ""
    if found is not None:
        outcome, said, reference = found.outcome, found.sentence, f"a model trained on {TRAINED_ON[found.reference]}"
    numbers, certificate = facts.task == "numbers", facts.certificate
    measures = set() if certificate is None else {entry.measure for entry in certificate.entries}
    better = "does better on every measure you asked for than"
    if measures == {"error"} or (numbers and len(measures) == 1):
        better = "is closer to the truth than" if numbers else "makes fewer mistakes than"
    headline = {
        "improved": f"The new model {better} {reference}, and that is certified.",
        "safe": f"On your trusted rows, the new model is no worse than {reference}, allowing for chance"
        + _but_more_mistakes(standings)
        + ".",
        "fell back": f"No gain could be shown, so nothing has changed: you have {reference}.",
        "unknown": "This run did not compare its model with anything.",
    }[outcome]
    grounds = [] if certificate is None else certificate_words(certificate, numbers)
    if not standings and said:  # nothing was compared, and the fit says why
        grounds, said = [*grounds, cut(said, 1000)], None
    elif standings and outcome != "improved" and not (certificate and certificate.certified):
        grounds.append(
            f"This compares the models on your {standings[0].n:,} trusted rows. It is not a proof: other rows may say "
            "otherwise."
        )
    if later:
        words = certificate_words(later[-1], numbers)[0]
        grounds += [f"A later test on fresh rows certified it. {words}" if later[-1].certified else f"Later: {words}"]
    return Verdict(
        outcome,
        OUTCOMES.get(outcome, "No verdict"),
        headline,
        grounds,
        _advice(outcome, facts, run, proved=any(each.certified for each in later)),
        said,
    )


def _but_more_mistakes(standings: list[Standing]) -> str:
    """Where loss and mistakes, of classes, do not agree."""
    role = {standing.role: standing for standing in standings if standing.range is not None}
    if not {"reference", "new"} <= role.keys():
        return ""
    new, old = role["new"], role["reference"]
    if new.loss >= old.loss or new.mistakes <= old.mistakes:
        return ""
    return (
        f": it is more confident (a smaller loss) but makes {count(new.mistakes, 'mistake')} against {old.mistakes:,}"
    )


def certificate_words(certificate: Certificate, numbers: bool) -> list[str]:
    """What a certificate says, how surely, and for which rows."""
    entries = certificate.entries
    if not entries:
        return [certificate.sentence]
    weakest = max(entries, key=lambda entry: entry.p_value)
    n, delta, tolerance = certificate.n, weakest.delta, weakest.tolerance
    if not certificate.certified:
        tested = f"A test on {count(n, 'fresh row')}"
        if certificate.pool is not None:
            tested = f"A test with {count(certificate.pool.labelled, 'label')} of {certificate.pool.rows:,} fresh rows"
        luck = (
            f"one that is no better could do as well by luck in up to {chance(weakest.p_value)} cases, and a "
            f"certificate allows only {chance(delta)}."
        )
        if weakest.p_value == 1:
            luck = "these rows gave no evidence for it."
        return [f"{tested} did not certify the new model: {luck} {evidence(weakest, numbers)}"]
    no_better = f"worse by {_amount(tolerance, weakest)} or more" if tolerance else "no better"
    fooled = (
        f"If the new model were really {no_better}, a test like this would wrongly certify it in at most "
        f"{chance(delta)} cases."
    )
    scope = (
        f"This holds for rows like the {n:,} fresh ones, which no model had seen: drawn at random from where the model "
        "will be used."
    )
    if certificate.pool is not None:
        scope = (
            f"This holds for rows like the {certificate.pool.rows:,} of the pool, which no model had seen. The two "
            f"models differ on {certificate.pool.differing:,} of them, and {certificate.pool.labelled:,} of these were "
            "labelled, one by one, until it was clear."
        )
    lines = [" ".join([fooled, scope, *(certificate.remarks or [])]), evidence(weakest, numbers)]
    if len(entries) > 1:
        lines.append(f"It passed all {len(entries)} tests; this was the closest.")
    if weakest.lower_bound > 0:
        amount = _amount(weakest.lower_bound, weakest)
        gain = (
            f"it gets at least {amount} more right" if weakest.measure == "error" else f"its gain is at least {amount}"
        )
        lines.append(f"With the same confidence, {gain}.")
    return [lines[0], " ".join(lines[1:])]


def evidence(entry: Entry, numbers: bool) -> str:
    """The rows behind a claim: where only one of the two was right, or one was closer."""
    rows = f"Of the {entry.n:,} rows" + ("" if entry.name == "all rows" else f" ({cut(entry.name, 60)})")
    won, lost = f"{entry.won:,}", f"{entry.lost:,}"
    if entry.measure == "error":
        return f"{rows}, the new model alone was right on {won}, the reference alone on {lost}."
    return f"{rows}, the new model {'was closer' if numbers else 'did better'} on {won}, the reference on {lost}."


def _amount(value: float, entry: Entry) -> str:
    if entry.measure == "error":
        return f"{number(100 * value, 2)} of 100 rows"
    return f"{number(value)} in {cut(entry.measure, 60).replace('_', ' ')}"


def _advice(outcome: str, facts: Facts, run: str, *, proved: bool) -> list[Advice]:
    """Steps in order. A run that was saved from Python has no files, and is used from there."""
    from_files = facts.files is not None
    predict = f"safegain predict {run} new.csv" if from_files else "model.predict(X_new)"
    certify = f"safegain certify {run} fresh.csv" if from_files else "model.certify(X_fresh, y_fresh)"
    review = Advice("Check the labels below, most suspicious first.", f"safegain review {run}")
    prove = Advice("For a proof, label fresh rows carefully and test on them.", certify)
    few = Advice(
        "Or label only rows on which the two models differ, in your browser.", f"safegain review {run} --pool new.csv"
    )
    proof = [prove, few] if from_files and facts.task == "classes" else [prove]
    return {
        "improved": [Advice("Use the new model.", predict), review],
        "safe": [Advice("You can use the new model.", predict), *([] if proved else proof), review],
        "fell back": [
            Advice("Go on as before; nothing is lost.", predict),
            Advice("Check labels: those you confirm become trusted rows in the next fit.", review.command),
        ],
    }.get(outcome, [review])
