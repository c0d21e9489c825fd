"""The commands: what can be asked. How it is done is in the modules that each of them imports when it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from safegain.cli.config import command_line, read_config
from safegain.cli.talk import NOT_CERTIFIED, Talk, wrong_input_in_one_line

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 not certified or not verified, 2 wrong input, 130 stopped.",
)

Run = Annotated[Path, typer.Argument(help="The folder of a run, as `safegain fit --out` made it.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the result.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON.")]

_KINDS, _SEARCH = "How columns are read", "What is trained, searched and proved"


def _option(text: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"safegain {version('safegain')}")
        raise typer.Exit


@app.callback()
def safegain(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Learn from labels that you cannot trust.

    Safegain compares with what you would have had, hands that back where it cannot do better, and proves it on request.
    """


@app.command()
def fit(
    context: typer.Context,
    train: Annotated[
        Path, typer.Argument(help="Rows with doubtful labels: .csv, .tsv, .parquet, .npz, .jsonl.", show_default=False)
    ],
    label: Annotated[
        str, typer.Option(help="The column of the labels; an empty cell is no label.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="The folder to write the run to.", show_default=False)],
    trusted: Annotated[
        str | None, typer.Option(help="A file of rows with right labels, or a column that says yes where one is.")
    ] = None,
    checked: Annotated[
        list[Path] | None, typer.Option(help="trusted.parquet of a review: rows of TRAIN with their right label.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="A column that names every row; joins the two files.")] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="A column of groups: reported one by one, and not a feature. With --safeness per-group none may lose; "
            "with --certificate 0.05,per_group=true each is proved."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="classes or numbers, if it is not what the labels look like.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file with options, by their names here.", is_eager=True, callback=read_config),
    ] = None,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.")] = 0,
    number: Annotated[list[str] | None, _option("This column holds numbers.", _KINDS)] = None,
    category: Annotated[list[str] | None, _option("This column holds categories.", _KINDS)] = None,
    text: Annotated[list[str] | None, _option("This column holds text.", _KINDS)] = None,
    image: Annotated[
        list[str] | None, _option("This column holds paths of pictures below TRAIN's folder.", _KINDS)
    ] = None,
    drop: Annotated[list[str] | None, _option("This column is left out.", _KINDS)] = None,
    image_features: Annotated[str, _option("auto, patches or pixels.", _KINDS)] = "auto",
    model: Annotated[
        list[str] | None,
        _option(
            "What is trained: auto, network (classes), huber (numbers), linear, forest, boosting, kernel, deep, or "
            '"forest, n_trees=50, ...". Given several times, these compete, and the best are mixed; auto: all.',
            _SEARCH,
        ),
    ] = None,
    search: Annotated[
        str | None,
        _option('auto, structured (classes), residuals (numbers), or free, the paper\'s: "free, n_outer=50".', _SEARCH),
    ] = None,
    reference: Annotated[
        str | None, _option("What not to be worse than: best, raw, raw+trusted, trusted.", _SEARCH)
    ] = None,
    safeness: Annotated[
        str | None, _option("per-class, per-group, bootstrap:3, measures:log_loss,brier; joined by +.", _SEARCH)
    ] = None,
    certificate: Annotated[
        str | None, _option("Prove it on trusted rows set aside: a level, as 0.05, or 0.05,per_class=true.", _SEARCH)
    ] = None,
    after: Annotated[
        Path | None,
        _option("An earlier run: rows tested there are not tested again, and tests are counted on.", _SEARCH),
    ] = None,
    validation_fraction: Annotated[
        float | None, _option("Share of labels taken as trusted where none are (0.2).", _SEARCH)
    ] = None,
    device: Annotated[
        str | None, _option("Where networks and kernels are trained: auto, cpu, cuda, mps (auto).", _SEARCH)
    ] = None,
    checkpoint: Annotated[Path | None, _option("Where a killed fit goes on from (OUT/checkpoint).", _SEARCH)] = None,
    workspace: Annotated[
        Path | None, _option("free: a folder to map weights and labels to, for more rows than memory.", _SEARCH)
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find how far to trust each label, train on that, and write down a run."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk, out):
        from safegain.cli.fit import run_fit

        words = command_line(context, {"train", "trusted", "checked", "out", "after", "checkpoint", "workspace"})
        run_fit(context.params, ["fit", *words], talk)


@app.command()
def resume(run: Run, quiet: Quiet = False, json: Json = False) -> None:
    """Go on with a fit that was killed; it ends with the bits that it would have ended with."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk, run):
        from safegain.cli.fit import run_resume

        run_resume(run, talk)


@app.command()
def predict(
    run: Run,
    table: Annotated[Path, typer.Argument(help="Rows to predict, with the columns of the fit.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .parquet or .jsonl file (default: standard output).")
    ] = None,
    id: Annotated[str | None, typer.Option(help="A column that names every row.")] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Predict new rows."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk):
        from safegain.cli.use import run_predict

        run_predict(run, table, out, id, talk)


@app.command()
def labels(
    run: Run,
    out: Annotated[
        Path | None,
        typer.Option(help="A .csv, .parquet or .jsonl file, or .json for Label Studio (default: a table here)."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only so many (default: all; 20 of them on the screen).")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List suspicious labels, most suspicious first."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk):
        from safegain.cli.use import run_labels

        run_labels(run, out, top, talk)


@app.command()
def certify(
    run: Run,
    fresh: Annotated[
        Path | None, typer.Argument(help="Rows with right labels that had no part in the fit.", show_default=False)
    ] = None,
    delta: Annotated[float, typer.Option(help="How often a model that is worse may pass.")] = 0.05,
    tolerance: Annotated[float, typer.Option(help="How much worse still passes, in the measure's units.")] = 0.0,
    measure: Annotated[
        list[str] | None, typer.Option(help="error, log_loss, brier, squared_error, absolute_error.")
    ] = None,
    clip: Annotated[float | None, typer.Option(help="Numbers: the largest error that counts.")] = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="A claim for each class.")] = False,
    id: Annotated[
        str | None, typer.Option(help="A column that names every row: the same name is the same row, another is not.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="A column of groups: a claim for each.")] = None,
    allow: Annotated[
        str | None, typer.Option(metavar="REASON", help="Test rows that look used all the same; it is written down.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compute the run's certificates by disagreements anew; give no FRESH.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Test on fresh rows whether the model is not worse than its reference."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk):
        from safegain.cli.use import run_certify, run_verify

        if verify == (fresh is not None):
            raise ValueError("FRESH: give a file of fresh rows with right labels, or --verify, one of the two")

        claims = {"delta": delta, "tolerance": tolerance, "measures": measure, "clip": clip, "per_class": per_class}
        roles = {"id": id, "group": group}
        good = run_verify(run, talk) if fresh is None else run_certify(run, fresh, roles, claims, allow, talk)
    if not good:
        raise typer.Exit(NOT_CERTIFIED)


@app.command()
def report(
    run: Run,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write the run's report, one HTML file."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk):
        from safegain.report import write_report

        path = write_report(run)
        talk.tell(str(path), {"report": str(path)})
        if show:
            typer.launch(path.absolute().as_uri())


@app.command()
def review(
    run: Run,
    port: Annotated[int, typer.Option(help="Port to listen on (default: any that is free).", show_default=False)] = 0,
    imported: Annotated[
        Path | None, typer.Option("--import", help="First take over the labels of a Label Studio export.")
    ] = None,
    pool: Annotated[
        Path | None,
        typer.Option(
            help="Fresh rows without labels: prove with few labels that the model is not worse.", show_default=False
        ),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(help="With --pool: a level (default: 0.05), or 0.05,tolerance=0.01, or 0.05,per_class=true."),
    ] = None,
    id: Annotated[str | None, typer.Option(help="With --pool: a column that names every row.")] = None,
    group: Annotated[str | None, typer.Option(help="With --pool: a column of groups, and a claim for each.")] = None,
    allow: Annotated[
        str | None, typer.Option(metavar="REASON", help="With --pool: test rows that look used; it is written down.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    quiet: Quiet = False,
) -> None:
    """Check suspicious labels in your browser, or prove there that the model is not worse (--pool)."""
    talk = Talk(quiet)
    with wrong_input_in_one_line(talk):
        from safegain.cli.review import run_review

        test = {"certificate": certificate, "id": id, "group": group, "allow": allow}
        run_review(run, imported, pool, test, port, browser, talk)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="A new folder for the demo's files.")] = Path("safegain-demo"),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Handwritten digits, many with a wrong label: files as you might have them, and a run."""
    talk = Talk(quiet, json)
    with wrong_input_in_one_line(talk):
        from safegain.cli.demo import run_demo

        run_demo(folder, talk)


if __name__ == "__main__":
    app()
