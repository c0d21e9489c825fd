"""PGS on the workers of a Ray cluster: `pip install 'safegain[ray]'`, then `python examples/ray_train.py`.

Ray Train's TorchTrainer starts the workers and initialises torch's process group, and that is all a fit needs. Each
worker brings its own rows; here every one reads its share of the digits.
"""

import os
import sys
import tempfile
from typing import Any

os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone

import ray
from ray import train
from ray.train.torch import TorchConfig, TorchTrainer


def fit_here(config: dict[str, Any]) -> dict[str, Any]:
    """What each worker does; Ray hands back what the first one returns."""
    import numpy as np
    from sklearn.datasets import load_digits

    from safegain import Free, Linear, Newton, PGSClassifier

    X, y = load_digits(return_X_y=True)
    random = np.random.default_rng(0)
    trusted = random.random(len(y)) < 0.2
    noisy = np.where(~trusted & (random.random(len(y)) < 0.4), (y + 1) % 10, y)
    context = train.get_context()
    mine = slice(
        len(y) * context.get_world_rank() // context.get_world_size(),
        len(y) * (context.get_world_rank() + 1) // context.get_world_size(),
    )
    model = PGSClassifier(
        Linear(solver=Newton(tol=1e-12)),  # so that any number of workers ends with the same weights
        search=Free(n_outer=5),
        reference="raw",
        checkpoint=config["checkpoint"],
        random_state=0,
    ).fit(X[mine], noisy[mine], trusted=trusted[mine])
    return {"rows": len(y[mine]), "accuracy": model.score(X, y), "weights": model.sample_weight_}


def main(n_workers: int = 2) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            fit_here,
            train_loop_config={"checkpoint": f"{folder}/checkpoint"},  # on several machines: a shared folder
            torch_config=TorchConfig(backend="gloo", timeout_s=60),
            scaling_config=train.ScalingConfig(num_workers=n_workers),
            run_config=train.RunConfig(storage_path=folder, name="safegain"),
        )
        return trainer.fit().return_value


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    print(main(*map(int, sys.argv[1:])))
    ray.shutdown()
