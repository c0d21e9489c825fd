"""From a user's files to columns, labels and trusted rows, and back to files that other programs can open."""

from safegain.tables.bad_file import BadFile
from safegain.tables.export import print_table, write_table
from safegain.tables.problem import Problem, read_problem
from safegain.tables.reading import read_table
from safegain.tables.rows import read_rows
from safegain.tables.table import Table
from safegain.tables.wanted import Wanted

__all__ = [
    "BadFile",
    "Problem",
    "Table",
    "Wanted",
    "print_table",
    "read_problem",
    "read_rows",
    "read_table",
    "write_table",
]
