"""PGS as the paper has it: the model that the search itself ends with. Measured where PGS is."""

NAME = "PGS, search only"
PART = ("pgs", "search")
