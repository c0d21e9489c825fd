"""The default on rows that do not fit, rehearsed with few of them and small models."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks import scale


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rehearsal_measures_every_row():
    memory, exponent, accuracy, held, speed, spent, budget = scale.run(quick=True)
    bars = [each["bar"] for each in (memory, exponent, held, speed, spent)]
    assert bars == ["<= 3", "<= 1.1", "<= 1", ">= 0.5", "<= 2.4"]
    assert "2,000 rows x 50, 30% of the labels wrong" in memory["name"]
    assert 0.1 < memory["ratio"] < 2, memory
    assert -3 < exponent["ratio"] < 3, exponent
    assert 55 < accuracy["ratio"] < 95, accuracy
    assert 0.1 < held["ratio"] < 2, held
    assert speed["ratio"] > 0, speed
    assert 0.1 < spent["ratio"] < 30, spent
    assert 55 < budget["ratio"] < 95, budget


def test_labels_are_wrong_as_often_as_said_and_trusted_ones_never(tmp_path):
    scale.write_rows(tmp_path, 2_000, quick=True)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["000.parquet", "001.parquet"]
    for number, path in enumerate(files):
        table = pq.read_table(path).to_pandas()
        X, right = scale.make_rows(1_000, scale.N_COLUMNS, scale.SEED + 100 + number)
        np.testing.assert_array_equal(table.drop(columns=["label", "trusted"]).to_numpy(), X)
        wrong = table["label"].to_numpy() != right
        assert table["trusted"].sum() == 150
        assert not wrong[table["trusted"]].any()
        assert 0.2 < wrong[~table["trusted"]].mean() < 0.4
