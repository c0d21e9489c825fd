"""What can be trained on soft labels and row weights."""
