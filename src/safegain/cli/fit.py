"""`safegain fit`: from what was typed to a request, and from a run to words."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from safegain.cli.config import absolute
from safegain.cli.talk import Talk
from safegain.data.process_group import launched_group
from safegain.jobs.fitting import fit_table, resume, streams
from safegain.jobs.request import Request
from safegain.runs.folder import REPORT, Run
from safegain.runs.words import judged
from safegain.tables import Source

KINDS = ("number", "category", "text", "image")
SETTINGS = (  # options that are arguments of the estimators
    *("model", "search", "reference", "safeness", "certificate", "validation_fraction"),
    *("device", "checkpoint", "workspace"),
)


def run_fit(options: Mapping[str, Any], command: Sequence[str], talk: Talk) -> None:
    """Started by torchrun, each process learns from its share of the rows."""
    out = Path(options["out"])
    with launched_group() as ranks:
        request = request_of(options, command, ranks.size)
        if ranks.size > 1 and streams(request):
            from safegain.jobs.shared_fitting import fit_shares

            run = fit_shares(request, out, ranks, say=talk.say, verbose=talk.progress)
        else:
            run = fit_table(request, out, say=talk.say, verbose=talk.progress, ranks=ranks)
        if ranks.rank == 0:
            conclude(run, talk)


def run_resume(folder: Path, talk: Talk) -> None:
    with launched_group() as ranks:
        run = resume(folder, say=talk.say, verbose=talk.progress, ranks=ranks)
        if ranks.rank == 0:
            conclude(run, talk)


def request_of(options: Mapping[str, Any], command: Sequence[str], processes: int) -> Request:
    kinds: dict[str, Any] = {}
    for kind in KINDS:
        for name in options[kind] or ():
            if name in kinds:
                raise ValueError(f"--{kind} {name}: the column is also --{kinds[name]}; give it one kind")
            kinds[name] = kind
    trusted = options["trusted"]
    source = Source(
        train=str(Path(options["train"]).absolute()),
        label=options["label"],
        trusted=trusted if trusted is None else absolute(trusted),
        checked=tuple(str(path.absolute()) for path in options["checked"] or ()),
        id=options["id"],
        group=options["group"],
        task=options["task"],
        kinds=kinds,
        drop=tuple(options["drop"] or ()),
    )
    given = {name: options[name] for name in SETTINGS if options[name] is not None}
    settings = {name: str(value.absolute()) if isinstance(value, Path) else value for name, value in given.items()}
    if models := settings.pop("model", None):  # several are a list of models; one is that model
        settings["model"] = models[0] if len(models) == 1 else list(models)
    after = None if options["after"] is None else str(options["after"].absolute())
    return Request(source, settings, options["seed"], options["image_features"], processes, list(command), after)


def conclude(run: Run, talk: Talk) -> None:
    """A report, unless there is one, and what came out in a few lines."""
    from safegain.report import write_report
    from safegain.report.unlabelled import worth_words

    if not (run.folder / REPORT).exists():
        write_report(run.folder)
    facts, folder = run.facts, shlex.quote(str(run.folder))
    certified = "" if facts.certificate is None else facts.certificate.sentence
    found = "" if facts.verdict is None else facts.verdict.sentence or ""
    if facts.verdict is not None and facts.verdict.outcome == "improved":
        found = f"Improved. {certified}"  # which needs no comparison beside it
    elif certified not in found:
        found = f"{found} {certified}"
    lines = [
        found,
        *worth_words(facts),
        judged(facts),
        "",
        f"  {run.folder / REPORT}",
        f"  safegain labels {folder}",
        f"  safegain review {folder}",
    ]
    names = ("verdict", "certificate", "models", "rows", "worth", "n_suspicious", "seconds")
    talk.tell("\n".join(lines), {"run": str(run.folder), **{name: to_builtins(getattr(facts, name)) for name in names}})
