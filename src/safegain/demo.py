"""The main job in one minute, on data that ships inside scikit-learn: `python -m safegain.demo`."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes, load_digits

from safegain import PGSClassifier, PGSRegressor


def digits(console: Console) -> None:
    """Handwritten digits; many of the weak labels are flipped to the next digit."""
    X, y = load_digits(return_X_y=True)
    X, y, random = _shuffled(X.astype(np.float32), y)
    trusted = np.arange(1397) < 400
    given = y[:1397].copy()
    flipped = ~trusted & (random.rand(1397) < 0.45)
    given[flipped] = (given[flipped] + 1) % 10

    console.rule("Digits: 997 rows, 45% of their labels flipped, and 400 trusted rows")
    began = time.perf_counter()
    model = PGSClassifier(certify=0.05, random_state=0).fit(X[:1397], given, trusted=trusted)
    seconds = time.perf_counter() - began

    def accuracy(predict: Callable[[Any], np.ndarray]) -> str:
        return f"{100 * (predict(X[1397:]) == y[1397:]).mean():.1f}%"

    _compare(console, "accuracy on 400 test rows", model, accuracy)
    console.print(model.safeness_.status, highlight=False)
    assert model.certificate_ is not None
    console.print(model.certificate_.sentence, highlight=False)
    issues = model.label_issues()
    changed = model.corrected_labels_ != given
    right = (model.corrected_labels_ == y[:1397]) & changed
    console.print(
        f"{flipped.sum()} labels are wrong; {changed.sum()} were changed, {right.sum()} of them to the truth."
    )
    _show_issues(console, issues, y)
    console.print(f"({seconds:.0f} s)\n")


def diabetes(console: Console) -> None:
    """Disease progression; half of the weak labels carry a large error."""
    X, y, random = _shuffled(*load_diabetes(return_X_y=True))
    trusted = np.arange(342) < 80
    wrong = ~trusted & (random.rand(342) < 0.5)
    given = y[:342] + np.where(wrong, random.randn(342) * 3 * y.std(), 0)

    console.rule("Diabetes: 262 rows, half of them with a large error in the label, and 80 trusted rows")
    model = PGSRegressor(random_state=0).fit(X[:342], given, trusted=trusted)

    def error(predict: Callable[[Any], np.ndarray]) -> str:
        return f"{((predict(X[342:]) - y[342:]) ** 2).mean():.0f}"

    _compare(console, "mean squared error on 100 test rows", model, error)
    console.print(model.safeness_.status, highlight=False)
    _show_issues(console, model.label_issues(), y)


def _shuffled(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.random.RandomState]:
    random = np.random.RandomState(0)
    order = random.permutation(len(y))
    return X[order], y[order], random


def _compare(
    console: Console,
    measure: str,
    model: PGSClassifier | PGSRegressor,
    score: Callable[[Callable[[Any], np.ndarray]], str],
) -> None:
    table = Table("trained on", measure)
    table.add_row("raw labels", score(model.raw_model_.predict))
    table.add_row(f"the best reference: {model.reference_}", score(model.reference_model_.predict))
    table.add_row("PGS", score(model.predict), style="bold")
    console.print(table)


def _show_issues(console: Console, issues: pd.DataFrame, truth: np.ndarray) -> None:
    table = Table(*issues.columns, "truth", title="The ten most suspicious rows", title_justify="left")
    for issue in issues.head(10).itertuples(index=False):
        table.add_row(*(f"{value:.4g}" for value in issue), f"{truth[issue.row]:.4g}")
    console.print(table)


if __name__ == "__main__":
    console = Console()
    digits(console)
    diabetes(console)
