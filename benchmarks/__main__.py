"""`make bench`: every row with a time in it, as a ratio within one run, and whether it meets its bar."""

import argparse

from rich.console import Console
from rich.table import Table

from benchmarks import (
    contest,
    convex,
    memmap,
    numbers,
    peers,
    projections,
    ranks,
    ridge,
    scale,
    table,
    unlabelled,
    unrolled,
)

PARTS = {
    "contest": contest.run,
    "convex": convex.run,
    "memmap": memmap.run,
    "numbers": numbers.run,
    "peers": peers.run,
    "projections": projections.run,
    "ranks": ranks.run,
    "ridge": ridge.run,
    "scale": scale.run,
    "table": table.run,
    "unlabelled": unlabelled.run,
    "unrolled": unrolled.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; all by default")
    console = Console(width=200)
    printed = Table("what / unit", "ratio", "low .. high", "noise", "bar", "met", title="Ratios within this run")
    for part in parser.parse_args().parts or PARTS:
        for row in PARTS[part]():
            spread = f"{row['low']:.2f} .. {row['high']:.2f}"
            noise = "" if row["noise"] is None else f"{row['noise']:.2f}"
            met = "yes" if row["met"] else "NO"
            printed.add_row(row["name"], f"{row['ratio']:.2f}", spread, noise, row["bar"], met)
            console.print(f"{row['name']}: {row['ratio']:.2f} ({spread}; noise {noise}) {row['bar']}: {met}")
    console.print(printed)


if __name__ == "__main__":
    main()
