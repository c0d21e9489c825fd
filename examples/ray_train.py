"""The default on the workers of a Ray cluster: `pip install 'safegain[ray]'`, `python examples/ray_train.py rows run`.

Ray Train's TorchTrainer starts the workers and initialises torch's process group, and that is all a fit needs. Each
worker reads its own share of a folder of Parquet files that all of them see; examples/noisy_digits.py makes one.
"""

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone

import ray
from ray import train
from ray.train.torch import TorchConfig, TorchTrainer


def fit_here(config: dict[str, Any]) -> str:
    """What each worker does; Ray hands back what the first one returns."""
    from safegain import ParquetRows, PGSClassifier, save

    table, run, context = config["table"], config["run"], train.get_context()
    names = ParquetRows.names(table, but=("label", "trusted"))
    rows = ParquetRows(table, columns=names).share(context.get_world_rank(), context.get_world_size())
    model = PGSClassifier(["linear", "kernel"], checkpoint=f"{run}-checkpoint", random_state=0)
    model.fit(rows, rows.column("label"), trusted=rows.column("trusted"))
    save(model, run, rows)
    return model.safeness_.status


def main(table: str, run: str, n_workers: int = 2) -> str:
    where = {"table": str(Path(table).absolute()), "run": str(Path(run).absolute())}
    trainer = TorchTrainer(
        fit_here,
        train_loop_config=where,
        torch_config=TorchConfig(backend="gloo", timeout_s=50),
        scaling_config=train.ScalingConfig(num_workers=n_workers),
        run_config=train.RunConfig(storage_path=f"{where['run']}-ray", name="safegain"),
    )
    return trainer.fit().return_value


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    print(main(*sys.argv[1:]))
    ray.shutdown()
