"""How weights and labels are found: the default road and the paper's, and the contest at their end."""
