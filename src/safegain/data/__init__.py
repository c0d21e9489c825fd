"""Rows wherever they are, labels, splits, processes and checkpoints: what comes before any learning."""
