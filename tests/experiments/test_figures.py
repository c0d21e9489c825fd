"""Figures are drawn from stored results alone."""

import pytest
from experiments.artefacts import artefacts, is_table

from tests.experiments.fakes import record


@pytest.mark.parametrize("name", [a.NAME for a in artefacts() if not is_table(a)])
def test_figures_are_drawn_from_stored_results_alone(name, store, tmp_path):
    (figure,) = artefacts([name])
    path = tmp_path / "figures" / "figure.svg"
    assert not figure.render(store.read, path)
    assert not path.exists()
    for run in figure.runs():
        metrics = {
            "iterates": {"accuracy": [80.0 + 0.1 * i for i in range(21)]},
            "convergence": {"steps": [1, 10, 100], "error": [0.5, 0.1, 1e-4], "factor": 0.93},
        }.get(run.method, {"accuracy": 80.0 + len(run.method) - run.seed})
        store.write(record(run, **metrics))
    assert figure.render(store.read, path)
    first = path.read_text()
    assert first.rstrip().endswith("</svg>")
    figure.render(store.read, path)
    assert path.read_text() == first  # the same results, the same file
