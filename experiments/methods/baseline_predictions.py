"""What Baseline's network says of the weak rows, taken as corrected labels. Measured where Baseline is."""

NAME = "Baseline's predictions"
PART = ("baseline", "predicted")
