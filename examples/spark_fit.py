"""The default on Spark: TorchDistributor starts the processes of the fit, predict_batch_udf scores a data frame.

`pip install 'safegain[spark]'` and a Java runtime, then `python examples/spark_fit.py rows run`. Each process reads its
own share of a folder of Parquet files that all of them see; nothing passes through the driver. examples/noisy_digits.py
makes such a folder.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers have the same packages

from pyspark.ml.functions import predict_batch_udf
from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array
from pyspark.sql.types import LongType


def fit_here(table: str, run: str) -> str:
    """What each process does; Spark hands back what the first one returns."""
    from safegain import ParquetRows, PGSClassifier, save
    from safegain.data.process_group import launched_group

    with launched_group() as ranks:
        names = ParquetRows.names(table, but=("label", "trusted"))
        rows = ParquetRows(table, columns=names).share(ranks.rank, ranks.size)
        model = PGSClassifier(["linear", "kernel"], checkpoint=f"{run}-checkpoint", random_state=0)
        model.fit(rows, rows.column("label"), trusted=rows.column("trusted"))
        save(model, run, rows)
        return model.safeness_.status


def scored(frame: DataFrame, features: Sequence[str], run: str) -> DataFrame:
    """With a column `predicted`: each worker loads the run once, and predicts in batches."""

    def make() -> Callable[[Any], Any]:
        from safegain import load

        return load(run).predict

    predict = predict_batch_udf(make, return_type=LongType(), batch_size=4096, input_tensor_shapes=[[len(features)]])
    return frame.withColumn("predicted", predict(array(*features)))


def main(table: str, run: str, n_processes: int = 2) -> str:
    table, run = (str(Path(each).absolute()) for each in (table, run))
    spark = SparkSession.builder.master(f"local[{n_processes}]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    status = TorchDistributor(num_processes=n_processes, local_mode=False, use_gpu=False).run(fit_here, table, run)
    rows = spark.read.parquet(table)
    features = [name for name in rows.columns if name not in ("label", "trusted")]
    scored(rows, features, run).select("label", "predicted").write.parquet(f"{run}-scored")
    spark.stop()
    return status


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
