"""The examples for several processes, run as they stand: torchrun, Ray Train and Spark find the same.

`make engines` installs Ray and Spark, and runs this; without them, only torchrun's part is run.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from safegain import ParquetRows, PGSClassifier, load
from safegain.runs import open_run

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
needs_ray, needs_spark = (
    pytest.mark.skipif(
        importlib.util.find_spec(name) is None, reason=f"needs the extra: pip install 'safegain[{extra}]'"
    )
    for name, extra in (("ray", "ray"), ("pyspark", "spark"))
)


def example(folder, *words):
    """What an example says at last."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "RAY_TMPDIR": "/tmp"}
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()[-1:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("engines")
    example(made, EXAMPLES / "noisy_digits.py", "rows")
    example(made, *TORCHRUN, EXAMPLES / "torchrun_fit.py", "rows", "by-torchrun")
    return made


def labels(folder, run):
    return open_run(folder / run).labels


def test_torchrun_finds_what_one_process_finds(folder):
    names = ParquetRows.names(folder / "rows", but=("label", "trusted"))
    rows = ParquetRows(folder / "rows", columns=names)
    alone = PGSClassifier(["linear", "kernel"], random_state=0)
    alone.fit(rows, rows.column("label"), trusted=rows.column("trusted"))
    found = labels(folder, "by-torchrun")
    assert (found["corrected"].astype(int) == alone.corrected_labels_).all()
    assert load(folder / "by-torchrun").predict(rows).tolist() == alone.predict(rows).tolist()


@needs_ray
def test_ray_finds_what_torchrun_finds(folder):
    (said,) = example(folder, EXAMPLES / "ray_train.py", "rows", "by-ray")
    assert said.startswith("Safe: ")
    pd.testing.assert_frame_equal(labels(folder, "by-ray"), labels(folder, "by-torchrun"), rtol=1e-6, atol=1e-9)


@needs_spark
def test_spark_finds_what_torchrun_finds_and_scores_a_frame(folder):
    (said,) = example(folder, EXAMPLES / "spark_fit.py", "rows", "by-spark")
    assert said.startswith("Safe: ")
    pd.testing.assert_frame_equal(labels(folder, "by-spark"), labels(folder, "by-torchrun"), rtol=1e-6, atol=1e-9)
    scored = pd.read_parquet(folder / "by-spark-scored")
    names = ParquetRows.names(folder / "rows", but=("label", "trusted"))
    expected = load(folder / "by-torchrun").predict(ParquetRows(folder / "rows", columns=names))
    assert sorted(scored["predicted"]) == sorted(expected)
