import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    random = np.random.RandomState(0)
    X, y = (part[:400] for part in load_digits(return_X_y=True))
    trusted = random.rand(len(y)) < 0.3
    noisy = np.where(trusted | (random.rand(len(y)) < 0.6), y, (y + 1) % 10)
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)]).assign(digit=noisy, right=trusted)
    frame.to_csv(folder / "digits.csv", index=False)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    trusted = random.rand(len(y)) < 0.3
    noisy = y + np.where(trusted, 0, random.randn(len(y)) * 60)
    X.assign(progression=noisy, right=trusted).to_csv(folder / "diabetes.csv", index=False)
    return folder
