"""From a user's files to columns, labels and trusted rows, and back to files that other programs can open."""

from safegain.tables.bad_file import BadFile
from safegain.tables.export import print_table, write_table
from safegain.tables.kinds import Kind
from safegain.tables.problem import Problem, read_problem
from safegain.tables.reading import read_table
from safegain.tables.rows import RowsToUse, read_rows
from safegain.tables.table import Table, Values
from safegain.tables.task import Task
from safegain.tables.wanted import Wanted

__all__ = [
    "BadFile",
    "Kind",
    "Problem",
    "RowsToUse",
    "Table",
    "Task",
    "Values",
    "Wanted",
    "print_table",
    "read_problem",
    "read_rows",
    "read_table",
    "write_table",
]
