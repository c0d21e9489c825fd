"""Which of evidence, channel and choice is to blame where the best usual model is ahead of Safegain in a cell.

Safegain is run again in that cell, told one thing that it had to find out: the true labels as evidence, the true
matrix of the noise, or which candidate is best on the test rows. What it gains by that is what the part costs. The
runs belong in `experiments/methods/safegain_default.py`, as an option beside `form`, once a search can be told.
"""

from collections.abc import Mapping

import numpy as np

TOLD = {"labels": "evidence", "matrix": "channel", "choice": "choice"}


def costs(default: np.ndarray, told: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Points that each part costs, the dearest first: means over the seeds that both have run.

    `told` has accuracies (seeds,) by what was told, a word of TOLD; nan: not run.
    """
    found = {}
    for word, accuracy in told.items():
        gain = (accuracy - default)[np.isfinite(accuracy - default)]
        if len(gain):
            found[TOLD[word]] = float(gain.mean())
    return dict(sorted(found.items(), key=lambda item: -item[1]))
