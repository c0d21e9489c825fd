"""What a person has to say on the board's page; everything else there is computed."""

# To be filled in: how the defaults of PGS were chosen, on which cells and seeds, before the published seeds were run.
HOW_SETTINGS_WERE_CHOSEN = ""

# To be filled in: what the board shows, and what was missed and why.
WHAT_IT_SAYS = ""
