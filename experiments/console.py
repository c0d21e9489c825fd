"""A table on the terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from experiments.grid import Column, Table
from experiments.text import beside, duration, is_best, spread


def print_table(console: Console, table: Table) -> None:
    for group, columns in table.groups.items():
        console.print(f"[bold]{table.name}: {table.title}{f', {group}' if group else ''}[/]", soft_wrap=True)
        shown = RichTable("method", *(column.label for column in columns))
        for method, name in table.methods.items():
            shown.add_row(name, *(_cell(table, method, column) for column in columns))
        console.print(shown)
    console.print(
        f"{table.metric.words}; {table.n_runs} runs, {duration(table.seconds)} of computing\n", soft_wrap=True
    )


def _cell(table: Table, method: str, column: Column) -> str:
    cell = table.cell(method, column)
    value = spread(cell, table.metric)
    return (f"[bold]{value}[/]" if is_best(table, cell, column) else value) + escape(beside(cell, table.metric))
