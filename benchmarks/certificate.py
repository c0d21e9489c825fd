"""How often a certificate is false on real data: `python -m benchmarks.certificate`.

Networks are trained on MNIST with half of the labels wrong, and 60,000 digits stand for the world. Of every two
networks the one that is worse there is the "new" one; fresh rows are drawn from the world again and again, and each
certificate is false.
"""

from itertools import permutations

import numpy as np
from experiments.data.mnist import problem

from safegain import PGSClassifier
from safegain.certificates.sign_test import sign_test
from safegain.datasets import load_mnist

DELTA, DRAWS, SIZES = 0.05, 5000, (100, 300, 1000)
SETTING = {"task": "noise", "noise": "uniform", "rate": 0.5, "trusted": "unbiased", "n_trusted": 1000}


def mistakes(seed: int, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Which rows of the world each model of one fit gets wrong."""
    made = problem(SETTING, seed)
    fitted = PGSClassifier(random_state=seed).fit(made.X, made.y, trusted=made.trusted)
    models = {
        "raw": fitted.references_["raw"],
        f"reference ({fitted.reference_})": fitted.reference_model_,
        "PGS": fitted,
    }
    return {f"{name}, seed {seed}": model.predict(X) != y for name, model in models.items()}


def main() -> None:
    digits, random = load_mnist(), np.random.default_rng(0)
    world = random.permutation(len(digits.target))[:60_000]
    X, y = digits.data[world], digits.target[world]
    wrong = {name: rows for seed in (100, 101) for name, rows in mistakes(seed, X, y).items()}
    print(f"{'new (worse)':28} {'old':28} {'worse by':>9}  false certificates with {', '.join(map(str, SIZES))} rows")
    for new, old in permutations(wrong, 2):
        worse = wrong[new].mean() - wrong[old].mean()
        if worse < 0 or (wrong[new] == wrong[old]).all():
            continue
        rates = []
        for n in SIZES:
            drawn = random.integers(len(y), size=(DRAWS, n))
            won = (wrong[old] & ~wrong[new])[drawn].sum(axis=1)
            lost = (wrong[new] & ~wrong[old])[drawn].sum(axis=1)
            rates.append(np.mean([sign_test(int(w), int(lo)) <= DELTA for w, lo in zip(won, lost, strict=True)]))
        print(f"{new:28} {old:28} {100 * worse:8.2f}%  {', '.join(f'{rate:.4f}' for rate in rates)}")


if __name__ == "__main__":
    main()
