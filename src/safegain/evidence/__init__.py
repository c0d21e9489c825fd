"""What the other rows say of a row's label: class probabilities, the channel of the noise, residuals."""
