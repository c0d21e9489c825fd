"""From files to a run folder."""
