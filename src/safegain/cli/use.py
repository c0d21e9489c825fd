"""What a finished run is used for: predictions, the list of suspicious labels, certificates on fresh rows."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from safegain.cli.talk import Talk
from safegain.data.files import written
from safegain.jobs.predicting import predictions
from safegain.jobs.ready import Ready, describe_rows, used_rows, with_columns
from safegain.runs.folder import Run, certificate_path, open_run
from safegain.runs.words import judged, label_text, noise_words, range_text
from safegain.tables import BadFile, printed, read_rows, write_parts, write_table
from safegain.tables.label_studio import to_tasks

ON_SCREEN = 20
COLUMNS = ("row", "id", "given", "suggested", "low", "high", "confidence", "weight", "suspicion")


def run_predict(folder: Path, table: Path, out: Path | None, id: str | None, talk: Talk) -> None:
    parts = predictions(folder, table, id)
    if out is None:
        for part in printed(parts, as_json=talk.json):
            talk.show(part)
        return
    write_parts(out, parts)
    talk.say(f"rows predicted: {out}")


def run_labels(folder: Path, out: Path | None, top: int | None, talk: Talk) -> None:
    run = open_run(folder)
    issues = run.issues.head(top) if top is not None else run.issues
    shown = issues[[name for name in COLUMNS if name in issues]]
    if out is None:
        if talk.json:
            talk.tell("", shown.to_dict("records"))
            return
        if shown.empty:
            talk.say(judged(run.facts))
        few = shown.head(top or ON_SCREEN)
        if noise := noise_words(run.labels):
            talk.say(noise)
        few = few.assign(given=few["given"].map(label_text), suggested=few["suggested"].map(label_text))
        if "low" in few:  # one column is easier to read than two
            ranges = [range_text(*ends) for ends in zip(few["low"], few["high"], strict=True)]
            few = few.assign(low=ranges).rename(columns={"low": "90% range"}).drop(columns="high")
        talk.table(few.columns.tolist(), few.itertuples(index=False))
        if len(few) < len(shown):
            talk.say(f"{len(few)} of {len(shown):,}; all of them: safegain labels {folder} --out labels.csv")
        return
    if (suffix := out.suffix.lower()) not in (".csv", ".parquet", ".jsonl", ".json"):
        raise BadFile(f"{out}: give it one of the endings .csv .parquet .jsonl, or .json for Label Studio")
    if suffix == ".json":
        with written(out) as beside:
            tasks = to_tasks(issues, run.examples, run.facts.task)
            beside.write_text(json.dumps(tasks, ensure_ascii=False, indent=1), encoding="utf-8")
    else:
        write_table(out, {name: shown[name].to_numpy() for name in shown})
    talk.say(f"{len(shown):,} suspicious labels: {out}")


def run_certify(
    folder: Path, fresh: Path, roles: dict[str, Any], claims: dict[str, Any], allow: str | None, talk: Talk
) -> bool:
    from safegain import Claims
    from safegain.certificates.ledger import UsedRows
    from safegain.report import write_report
    from safegain.runs.ledger_file import write_ledger
    from safegain.runs.lock import locked

    made = Claims(**claims, per_group=roles["group"] is not None)
    run, columns = with_columns(folder)
    with locked(folder):  # or two tests know nothing of each other
        rows = read_rows(fresh, columns, label=run.facts.label, **roles, **_labels_as(run))
        model = Ready.of(run, fresh)
        estimator, X = model.estimator, model.rows(rows.table)
        describe_rows(run, estimator.ledger_, rows)
        if allow is not None:
            estimator.ledger_.allow(allow)
        try:
            certificate = estimator.certify(X, rows.y, made, groups=rows.groups)
        except UsedRows as error:
            raise used_rows(error, rows.table) from None
        created = datetime.now(UTC).isoformat(timespec="seconds")
        facts = {**certificate.as_dict(), "file": str(fresh), "created": created}
        write_ledger(folder, estimator.ledger_)  # first: a test that was seen is used up, whatever happens then
        with written(certificate_path(folder, run.next_number)) as beside:
            beside.write_text(json.dumps(facts, indent=1), encoding="utf-8")
        write_report(folder)
    talk.tell(str(certificate), facts)
    return certificate.certified


def run_verify(folder: Path, talk: Talk) -> bool:
    from safegain.jobs.verifying import verify_proofs

    found = verify_proofs(folder)
    words = [f"{one.file}: {'; '.join(one.problems) or 'verified'}. {one.sentence}" for one in found]
    talk.tell("\n".join(words), [asdict(one) for one in found])
    return not any(one.problems for one in found)


def _labels_as(run: Run) -> dict[str, Any]:
    return {"task": run.facts.task, "classes": run.facts.classes}
