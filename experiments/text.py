"""Numbers as they are read, on the page and on the console."""

from experiments.grid import Cell, Column, Metric, Table


def spread(cell: Cell, metric: Metric) -> str:
    """mean ± sd; the mean alone for one seed, a dash for none"""
    if not cell.values:
        return "–"
    mean = f"{cell.mean:.{metric.digits}f}"
    return mean if len(cell.values) < 2 else f"{mean} ± {cell.sd:.{metric.digits}f}"


def beside(cell: Cell, metric: Metric) -> str:
    """Whose cell it is, the paper's figure, how often the baseline was better, and how many seeds there are if some are
    missing.
    """
    who = f" ({cell.who})" if cell.who else ""
    paper = "" if cell.paper is None else f" [{cell.paper:.{metric.paper_digits}f}]"
    unsafe = f", unsafe {cell.unsafe}/{cell.compared}" if cell.compared else ""
    seeds = f", {len(cell.values)} of {cell.planned} seeds" if cell.values and not cell.complete else ""
    return who + paper + unsafe + seeds


def is_best(table: Table, cell: Cell, column: Column) -> bool:
    return cell.complete and bool(cell.values) and round(cell.mean, table.metric.digits) == table.best(column)


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
