"""Cells of the board once more, for Safegain that is told something: results lie in a table of their own."""

from experiments.data.checked import problem as problem
