"""The page on this machine: labels to review, or a pool to prove it with."""

from pathlib import Path
from typing import Any

from safegain.cli.talk import Talk


def run_review(
    run: Path, imported: Path | None, pool: Path | None, test: dict[str, Any], port: int, browser: bool, talk: Talk
) -> None:
    """`test` has the certificate that is wanted of the pool, its groups, and why used rows are allowed."""
    from safegain.review import import_decisions, serve

    if imported is not None:
        from safegain.tables.label_studio import from_export

        talk.say(f"{import_decisions(run, from_export(imported))} labels taken over from {imported}")
    proof = None
    if pool is not None:
        from safegain.jobs.proving import begin_proof
        from safegain.jobs.settings import claims_of

        claims = claims_of(test["certificate"] or "0.05").with_params(per_group=test["group"] is not None)
        proof, begun = begin_proof(run, pool, claims, id=test["id"], group=test["group"], allow=test["allow"])
        talk.say(
            f"{pool}: {'a new test begins' if begun else 'its test goes on'}, proof-{proof}; label rows on the page"
        )
    elif given := [name for name in ("certificate", "id", "group", "allow") if test[name] is not None]:
        raise ValueError(f"{given[0]}: belongs to the test of a pool; give --pool FILE too, or leave it out")
    announce = lambda url: talk.tell(url, {"url": url})  # noqa: E731
    serve(run, port=port, open_browser=browser, announce=announce, proof=proof, certified=_write_report)


def _write_report(run: Path) -> None:
    from safegain.report import write_report  # draws, which takes long to import, and is rarely asked for

    write_report(run)
