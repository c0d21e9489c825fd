"""Rows that stay on disk, rehearsed with few of them."""

import numpy as np
from benchmarks import memmap


def test_rehearsal_measures_every_row():
    peak, anonymous, exponent = memmap.run(sizes=(2_000, 4_000), dtypes=("float32",))
    # 4,000 rows of 20 are 320 kB: more than a tenth of a GB is a leak, and less than nothing is no measurement.
    assert -0.001 < peak["ratio"] < 0.1, peak
    assert -0.001 < anonymous["ratio"] < 0.1, anonymous
    assert -6 < exponent["ratio"] < 6, exponent  # between half a second and half a minute, or the other way round


def test_the_file_holds_what_is_asked_for(tmp_path):
    memmap.write_rows(tmp_path, 1_000, "float32")
    X, y = np.load(tmp_path / "X.npy"), np.load(tmp_path / "y.npy")
    assert (X.shape, X.dtype, y.shape) == ((1_000, memmap.N_COLUMNS), np.float32, (1_000,))
    beta = np.linalg.lstsq(X[::2], y[::2], rcond=None)[0]
    residual = y - X @ beta
    assert residual[::2].std() < 0.2 < 4 < residual[1::2].std()  # every other label is far off
