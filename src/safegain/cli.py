"""The command line: `safegain fit table.parquet --label y --trusted checked --out run`.

Started by `torchrun --nproc-per-node 2 -m safegain fit ...`, each process takes its share of the rows.
"""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False)


@app.callback()
def safegain() -> None:
    """Learn from labels that cannot be trusted."""


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help="Numbers and labels: a Parquet file, a folder of them, or a CSV file.")],
    label: Annotated[str, typer.Option(help="The column of the labels.")],
    trusted: Annotated[str, typer.Option(help="The column that is true, or 1, where the label is right.")],
    out: Annotated[Path, typer.Option(help="The folder to write to.")],
    numbers: Annotated[bool, typer.Option("--numbers", help="Labels are numbers, not classes.")] = False,
    model: Annotated[str, typer.Option(help="auto, softmax, ridge or mlp.")] = "auto",
    search_space: Annotated[str, typer.Option(help="auto; or free, which runs on several processes.")] = "auto",
    reference: Annotated[str, typer.Option(help="best, raw, raw+trusted or trusted.")] = "best",
    n_outer: Annotated[int, typer.Option(help="Outer steps.")] = 20,
    n_inner: Annotated[int, typer.Option(help="Inner steps of a descent.")] = 500,
    tol: Annotated[float, typer.Option(help="Gradient at which Newton stops.")] = 1e-7,
    seed: Annotated[int, typer.Option(help="Everything random follows from it.")] = 0,
    checkpoint: Annotated[Path | None, typer.Option(help="A folder from which a killed run goes on.")] = None,
) -> None:
    """Learn how far to trust each label, train on that, and write both down."""
    from safegain.process_group import launched_group

    with launched_group() as ranks:
        try:
            _fit(ranks, **{name: value for name, value in locals().items() if name not in ("ranks", "launched_group")})
        except (ValueError, OSError) as error:
            typer.echo(f"safegain: {error}", err=True)
            raise typer.Exit(2) from None


def _fit(
    ranks: Any, table: Path, label: str, trusted: str, out: Path, numbers: bool, seed: int, **settings: Any
) -> None:
    from safegain import PGSClassifier, PGSRegressor
    from safegain.shares import read_share, write_share

    share = read_share(table, label, trusted, ranks)
    estimator = (PGSRegressor if numbers else PGSClassifier)(random_state=seed, verbose=1, **settings)
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    streamed = settings["search_space"] == "free" and settings["model"] in ("softmax", "ridge")
    estimator.fit(share.X if streamed else share.X[:], share.y, trusted=share.trusted)
    write_share(out, share, estimator, ranks)
    if ranks.rank == 0:
        summary = {
            "outcome": estimator.safeness_.status,
            "reference": estimator.reference_,
            "processes": ranks.size,
            "seconds": round(time.perf_counter() - began, 1),
        }
        (out / "summary.json").write_text(json.dumps(summary, indent=2))
        typer.echo(estimator.safeness_)


if __name__ == "__main__":
    app()
