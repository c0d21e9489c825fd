"""What a user would have had anyway: the learner on the weak labels, on weak and trusted labels, on trusted labels."""

from typing import Literal, get_args

Reference = Literal["raw", "raw+trusted", "trusted"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)
BEST = "best"  # of the three
NEW: Literal["new"] = "new"  # what is compared with them
SAFE_CHOICE = "raw+trusted"  # where trusted rows are too few to choose
