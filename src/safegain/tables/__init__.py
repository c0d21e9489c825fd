"""From a user's files to columns, labels and trusted rows, and back to files that other programs can open."""

from safegain.tables.bad_file import BadFile
from safegain.tables.export import printed, write_parts, write_table
from safegain.tables.formats import read_table
from safegain.tables.problem import Problem, read_problem
from safegain.tables.rows import read_row_blocks, read_rows
from safegain.tables.source import Source
from safegain.tables.table import Table

__all__ = [
    "BadFile",
    "Problem",
    "Source",
    "Table",
    "printed",
    "read_problem",
    "read_row_blocks",
    "read_rows",
    "read_table",
    "write_parts",
    "write_table",
]
