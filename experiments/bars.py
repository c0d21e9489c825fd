"""What the results must reach, computed from the tables: each bar with its numbers and whether it is met."""

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.grid import Column, Table

CLASSIFICATION = ("table-mnist-noise", "table-mnist-ssl", "table-cifar-noise", "table-cifar-ssl")
REGRESSION = ("table-regression-noise", "table-regression-ssl")
CORRECTION = "table-correction"
# Of the default: what it is held against, beside Baseline and the paper's figure.
USUAL, LABELLED = "the best usual model", "the same without the rows that have no label"
DEFAULT = {
    "table-mnist-noise": ("best_usual", USUAL),
    "table-cifar-noise": ("best_usual", USUAL),
    "table-mnist-ssl": ("safegain_labelled", LABELLED),
    "table-cifar-ssl": ("safegain_labelled", LABELLED),
}
DEFAULT_NUMBERS = "table-regression-ssl"
LARGER = 1.01


@dataclass(frozen=True)
class Bar:
    what: str
    numbers: str
    met: bool | None  # None: not all of it has been run


def bars(tables: Mapping[str, Table]) -> list[Bar]:
    """The bars of the tables at hand: 8 of classification, 9 of the default, 12 of regression, 6 of correction."""
    found = [
        _classification(tables[name], c) for name in CLASSIFICATION if name in tables for c in tables[name].columns
    ]
    found += [_default(tables[name], column) for name in DEFAULT if name in tables for column in tables[name].columns]
    if DEFAULT_NUMBERS in tables:
        found.append(_default_numbers(tables[DEFAULT_NUMBERS]))
    for name in REGRESSION:
        if name in tables:
            # Where the paper has a figure: its six sets, and one kind of noise.
            found += [_regression(tables[name], column) for column in tables[name].columns if column.paper]
    if CORRECTION in tables:
        found += [_correction(tables[CORRECTION], column) for column in tables[CORRECTION].columns]
    return found


def _classification(table: Table, column: Column) -> Bar:
    pgs, floor = (table.cell(method, column) for method in ("pgs", "baseline"))
    paper = column.paper["pgs"]
    what = f"{table.title}, {column.label}: PGS at least the paper's and above Baseline"
    if not (pgs.complete and floor.complete):
        return Bar(what, f"paper {paper}", None)
    numbers = f"PGS {pgs.mean:.1f}, paper {paper}, Baseline {floor.mean:.1f}"
    return Bar(what, numbers, pgs.mean >= paper and pgs.mean > floor.mean)


def _default(table: Table, column: Column) -> Bar:
    method, words = DEFAULT[table.name]
    cells = [table.cell(each, column) for each in ("safegain_default", "baseline", method)]
    paper, usual = column.paper["pgs"], words == USUAL
    reached = f"at least the paper's, above Baseline and {'not below' if usual else 'above'} {words}"
    what = f"{table.title}, {column.label}: PGS, default {reached}"
    if not all(cell.complete for cell in cells):
        return Bar(what, f"paper {paper}", None)
    # Five seeds of 1,000 test rows make steps of 0.02: two digits are all of a mean but for floating point.
    ours, floor, other = (round(cell.mean, 2) for cell in cells)
    numbers = f"PGS, default {ours:.2f}, paper {paper}, Baseline {floor:.2f}, {words} {other:.2f}"
    numbers += f" ({cells[2].who})" if cells[2].who else ""
    return Bar(what, numbers, ours >= paper and ours > floor and (ours >= other if usual else ours > other))


def _default_numbers(table: Table) -> Bar:
    """Over the paper's sets."""
    pairs = [
        [table.cell(each, column) for each in ("safegain_numbers", "safegain_labelled")]
        for column in table.columns
        if column.paper
    ]
    what = f"{table.title}: error of PGS, default over {LABELLED}: below 1 on average, at most {LARGER} in every set"
    if not pairs or not all(cell.complete for pair in pairs for cell in pair):
        return Bar(what, "", None)
    ratios = [ours.mean / labelled.mean for ours, labelled in pairs]
    mean, most = sum(ratios) / len(ratios), max(ratios)
    return Bar(what, f"mean {mean:.3f}, at most {most:.3f}", mean < 1 and most <= LARGER)


def _regression(table: Table, column: Column) -> Bar:
    pgs, floor = (table.cell(method, column) for method in ("pgs_regressor", "baseline_regressor"))
    what = f"{table.title}, {column.label}: error of PGS below Baseline's"
    if not (pgs.complete and floor.complete):
        return Bar(what, "", None)
    return Bar(what, f"PGS {pgs.mean:.6f}, Baseline {floor.mean:.6f}", pgs.mean < floor.mean)


def _correction(table: Table, column: Column) -> Bar:
    pgs, nearest, influence = (table.cell(m, column) for m in ("pgs", "nearest_neighbour", "influence_function"))
    what = f"{table.title}, {column.label} wrong: F1 of PGS above nearest neighbour and influence function"
    if not (pgs.complete and nearest.complete and influence.complete):
        return Bar(what, "", None)
    numbers = f"PGS {pgs.mean:.1f}, nearest neighbour {nearest.mean:.1f}, influence function {influence.mean:.1f}"
    return Bar(what, numbers, pgs.mean > max(nearest.mean, influence.mean))
