"""PGS for numbers as the paper has it: ridge regression, and the model that the search itself ends with."""

NAME = "PGS, search only"
PART = ("pgs_regressor", "search")
