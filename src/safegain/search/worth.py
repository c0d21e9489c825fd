"""What rows without a label are worth, in labels."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Worth:
    """What rows without a label are worth: quality with them and without, by the number of labels.

    Quality is the share of right answers; of numbers, the share of the variance that is explained.
    """

    labels: tuple[int, ...]  # how many were learned from
    alone: tuple[float, ...]  # without the other rows
    together: tuple[float, ...]

    def more_labels(self, number: int) -> tuple[int, bool]:
        """How many more labels would do as much as the other rows, and whether they would not take more still.

        Between the numbers that were tried, quality goes along the logarithm of the number of labels.
        """
        n, wanted = self.labels[number], self.together[number]
        alone = np.maximum.accumulate(self.alone[number:])
        if wanted <= alone[0]:
            return 0, True
        if wanted > alone[-1]:
            return self.labels[-1] - n, False
        above = int(np.argmax(alone >= wanted))
        low, high = (np.log(self.labels[number + at]) for at in (above - 1, above))
        share = (wanted - alone[above - 1]) / (alone[above] - alone[above - 1])
        return round(float(np.exp(low + share * (high - low)))) - n, True
