"""A run as one HTML file: every section is worked out here, and laid out by templates/report.html."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from msgspec import to_builtins

from safegain.data.files import written
from safegain.report import charts
from safegain.report.checked import checked_rows
from safegain.report.comparison import comparisons, fell_back, standings
from safegain.report.history import candidates, walk
from safegain.report.leaderboard import leaderboard
from safegain.report.more_rows import rows_that_would_settle
from safegain.report.repeats import repeats_words
from safegain.report.rows import most_suspicious
from safegain.report.trust import matrix, panels, shifts
from safegain.report.unlabelled import unlabelled_words
from safegain.report.verdict import certificate_words, verdict
from safegain.report.words import cleaned, count, cut, label, listed, number, of_100
from safegain.runs import Run, open_run
from safegain.runs.facts import Facts
from safegain.runs.folder import FACTS, REPORT
from safegain.runs.guard import distrusting
from safegain.runs.words import judged, noise_words

MOST_LISTED = 60  # columns or records in the list of exact numbers


def write_report(folder: str | Path) -> Path:
    """Write report.html into a run folder; returns its path."""
    run = open_run(folder)
    text = report_html(run)
    with written(run.folder / REPORT) as beside:
        beside.write_text(text, encoding="utf-8")
    return run.folder / REPORT


def report_html(run: Run) -> str:
    """The report as one self-contained page: no script, no network, and only text of what files hold."""
    environment = _environment()
    css = Markup(environment.loader.get_source(environment, "report.css")[0])  # type: ignore[union-attr]
    with distrusting(run.folder / FACTS, "the run's other files"):
        return environment.get_template("report.html").render(css=css, **_sections(run))


def _sections(run: Run) -> dict[str, Any]:
    facts, command = run.facts, shlex.quote(run.folder.resolve().name)
    compared, numbers, back = standings(facts), facts.task == "numbers", fell_back(facts)
    parts = [(part, charts.pairs_chart(part) if len(part.pairs) > 1 else None) for part in comparisons(facts)]
    steps, left = walk(facts), [] if back else panels(run.labels, facts.task)
    moved = shifts(run.issues) if numbers else None
    return {
        "facts": facts,
        "numbers": numbers,
        "command": command,
        "verdict": verdict(facts, compared, run.certificates, command),
        "standings": compared,
        "models_chart": charts.models_chart(compared) if compared else None,
        "leaderboard": leaderboard(facts),
        "comparisons": parts,
        "walk": steps,
        "walk_chart": charts.walk_chart(steps) if steps else None,
        "candidates": candidates(facts),
        "checked": checked_rows(facts),
        "repeats": repeats_words(facts),
        "fell_back": back,
        "not_judged": judged(facts) if back and not facts.n_suspicious else None,
        "panels": left,
        "panels_chart": charts.panels_chart(left) if left else None,
        "matrix": None if numbers or back else matrix(run.issues, facts.classes),
        "shifts": moved,
        "noise": noise_words(run.labels) if numbers else None,
        "shifts_chart": charts.shifts_chart(moved) if moved else None,
        "kept_apart": numbers or facts.rows is None or facts.rows.held_out != 0,
        "unlabelled": unlabelled_words(run),
        "n_issues": len(run.issues),
        "rows": most_suspicious(run),
        "more_rows": rows_that_would_settle(facts, compared, _disagree(run), run.certificates),
        "later": [(entry, certificate_words(entry, numbers)) for entry in run.certificates],
        "exact": _exact(facts),
    }


def _disagree(run: Run) -> float | None:
    return float(run.labels["disagrees"].mean()) if "disagrees" in run.labels and len(run.labels) else None


def _exact(facts: Facts) -> list[tuple[str, list[tuple[str, str]]]]:
    """Name and lines of every list of settings and numbers, as far as the run has them."""
    estimator = facts.estimator
    about = {
        "Safegain": facts.safegain,
        "Made": facts.created,
        "Seconds": facts.seconds,
        "Seed": facts.seed,
        "Estimator": None if estimator is None else estimator.name,
    }
    lists = {
        "This run": about,
        "Files": to_builtins(facts.files),
        "Rows": to_builtins(facts.rows),
        "Columns, and how they were read": facts.columns,
        "Settings": None if estimator is None else estimator.parameters,
        "Versions": facts.versions,
    }
    return [(name, _lines(values)) for name, values in lists.items() if values and _lines(values)]


def _lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = [(cut(key, 80), _exactly(value)) for key, value in values.items() if value is not None]
    left = len(lines) - MOST_LISTED
    return lines if left <= 0 else [*lines[:MOST_LISTED], ("…", f"{left:,} more")]


def _exactly(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else cut(value, 200)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("safegain.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: cleaned(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "of_100": of_100,
        "label": label,
        "cut": cut,
        "day": _day,
        "listed": listed,
        "count": count,
    }
    return environment


def _day(moment: Any) -> str:
    """ "31 January 2026" """
    try:
        found = datetime.fromisoformat(str(moment))
    except ValueError:
        return cut(moment, 40)
    return f"{found.day} {found:%B %Y}"
