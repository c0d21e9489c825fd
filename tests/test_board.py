"""The board: its cells, its statistics by hand and against scipy, its bars, drawings and page."""

from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from experiments.board import __main__ as command
from experiments.board.bars import bars
from experiments.board.cells import CELLS, REGRESSION_CELLS
from experiments.board.grids import (
    BOUND,
    METHODS,
    PGS,
    PGS_REGRESSOR,
    REGRESSION_METHODS,
    SEEDS,
    classification,
    regression,
    runs,
)
from experiments.board.page import draw_board, write_board
from experiments.board.plots import spread_out
from experiments.board.scores import read_scores
from experiments.board.statistics import (
    against_one,
    all_pairs,
    cliques,
    holm,
    mean_ranks,
    recovered_gaps,
    time_multiple,
    unsafe_runs,
    wilcoxon_p,
    wins,
)
from experiments.data.youtube import majority
from experiments.plan import Run
from experiments.runner import missing_package
from experiments.score import fit_and_score
from experiments.store import Store
from scipy.stats import false_discovery_control, wilcoxon

NAN = float("nan")


def record(run: Run, seconds: float, **metrics: float) -> dict:
    return {
        "run": run.as_dict(),
        "metrics": metrics,
        "seconds": seconds,
        "versions": {},
        "machine": {"cpu": "a cpu", "cores": 2},
    }


def played(**points: float) -> dict[Run, dict]:
    """A whole board: PGS at 95 and its reference at 92, Baseline 90, the bound 96, others below, but for `points`."""
    worth = {method: 90.0 - i for i, method in enumerate(METHODS)} | {PGS: 95.0, "baseline": 90.0, BOUND: 96.0} | points
    random = np.random.default_rng(0)

    def play(run: Run) -> dict:
        if run.data == "regression":
            return record(run, 1.0, mse=0.09 if run.method == PGS_REGRESSOR else 0.1)
        accuracy = worth[run.method] + random.uniform(0, 0.01)  # cells are not all alike
        if run.method == PGS:
            return record(run, 20.0, accuracy=accuracy, reference_accuracy=92.0, f1=93.5)
        return record(run, 2.0, accuracy=accuracy)

    return {run: play(run) for run in runs(SEEDS)}


# Cells and runs


def test_the_cells_are_those_that_were_asked_for():
    assert len(CELLS) == 19
    assert len({cell.name for cell in CELLS}) == 19
    per_set = {name: sum(cell.set == name for cell in CELLS) for name in dict.fromkeys(c.set for c in CELLS)}
    assert per_set == {
        "MNIST": 4, "CIFAR-10": 2, "CIFAR-10N": 3, "letter": 3, "pendigits": 2, "spambase": 3, "digits": 1, "YouTube": 1
    }  # fmt: skip
    assert len(REGRESSION_CELLS) == 27


@pytest.mark.parametrize(
    ("name", "shape", "n_trusted", "n_test", "wrong"),
    [
        ("letter, uniform 50%, 1,000 trusted", (11_000, 16), 1000, 4000, 0.5),
        ("letter, uniform 50%, 100 trusted", (10_100, 16), 100, 4000, 0.5),
        ("pendigits, pair 40%, 1,000 trusted", (8000, 16), 1000, 2900, 0.4),
        ("spambase, uniform 30%, 460 trusted", (3460, 57), 460, 1100, 0.3),
        ("digits, uniform 50%, 180 trusted", (1347, 64), 180, 450, 0.5),
        ("YouTube, majority of votes, 171 trusted", (1298, 200), 171, 250, 0.07),
    ],
)
def test_cells_become_problems(name, shape, n_trusted, n_test, wrong):
    (cell,) = [cell for cell in CELLS if cell.name == name]
    try:
        problem, other = (import_module(f"experiments.data.{cell.data}").problem(cell.setting, seed) for seed in (0, 1))
    except OSError as error:
        pytest.skip(str(error))
    weak = ~problem.trusted
    assert problem.X.shape == pytest.approx(shape, abs=20 if cell.set == "YouTube" else 0)  # ties depend on the draw
    assert (problem.trusted.sum(), len(problem.y_test)) == (n_trusted, n_test)
    assert np.mean(problem.y[weak] != problem.true[weak]) == pytest.approx(wrong, abs=0.03)
    assert np.array_equal(problem.y[problem.trusted], problem.true[problem.trusted])
    assert len(problem.X_test) == n_test
    assert not np.array_equal(problem.X[:100], other.X[:100])


def test_majority_of_votes():
    assert majority(np.array([[1, 1, 0], [0, -1, -1], [1, 0, -1], [-1, -1, -1]])).tolist() == [1, 0, -1, -1]


def test_runs_go_seed_by_seed_and_from_cheap_to_dear():
    planned = runs(SEEDS)
    assert len(planned) == len({run.key for run in planned}) == 5 * (19 * len(METHODS) + 27 * len(REGRESSION_METHODS))
    assert all(a.seed <= b.seed for a, b in pairwise(planned))
    first_seed = list(dict.fromkeys(run.data for run in planned if run.seed == 0))
    assert first_seed == ["regression", "youtube", "digits", "tables", "cifar10n", "cifar10", "mnist"]


@pytest.mark.parametrize("method", sorted({*METHODS, *REGRESSION_METHODS} - {BOUND}))
def test_every_method_can_be_made(method):
    if package := missing_package(method):
        pytest.skip(f"{method} needs the package {package}")
    for quick in (False, True):
        made = import_module(f"experiments.methods.{method}").estimator(3, quick=quick)
        assert made.get_params()["random_state"] == 3


def test_some_cells_and_methods_can_be_chosen():
    chosen = runs([100, 101], only=["MNIST, pair"], methods=["pgs_auto"])
    assert {run.setting["noise"] for run in chosen} == {"pair"}
    assert {(run.method, run.seed) for run in chosen} == {("pgs_auto", 100), ("pgs_auto", 101)}
    assert len(chosen) == 2
    with pytest.raises(ValueError, match="no cell's name has mnits"):
        runs(SEEDS, only=["mnits"])
    with pytest.raises(ValueError, match="no 'pgs_atuo' on the board"):
        runs(SEEDS, methods=["pgs_atuo"])


def test_other_seeds_are_kept_apart():
    tuning = command.board_places(command.parse(["--seeds", "100", "101"]))
    assert {tuning.page.parts[:2], tuning.store.folder.parts, tuning.figures.parts[:2]} == {("build", "tuning")}
    assert command.board_places(command.parse([])).page == Path("docs/board.md")


def test_the_reference_of_a_model_is_measured():
    class Model:
        def __init__(self, said: int) -> None:
            self.said = said

        def fit(self, X, y, trusted):
            self.reference_model_ = Model(0)

        def predict(self, X):
            return np.full(len(X), self.said)

    rows = np.zeros((4, 1))
    labels = np.array([0, 1, 1, 1])
    problem = import_module("safegain.datasets").WeakProblem(rows, labels, labels, labels == 0, rows, labels)
    assert fit_and_score(Model(1), problem) == {"accuracy": 75.0, "reference_accuracy": 25.0}


# Statistics


def test_ranks_by_hand():
    # Cell 1: ranks (1, 2, 3) and a tie (1.5, 1.5, 3); cell 2: (3, 1, 2), and a seed that has not been run.
    scores = np.array([[[9, 8], [1, NAN]], [[8, 8], [3, NAN]], [[7, 6], [2, NAN]]], dtype=float)
    assert mean_ranks(scores) == pytest.approx([(1.25 + 3) / 2, (1.75 + 1) / 2, (3 + 2) / 2])
    assert wins(scores).tolist() == [1, 1, 0]


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    p = np.array([0.001, 0.2, 0.02, 0.04])
    assert (holm(p) >= false_discovery_control(p, method="bh")).all()  # never bolder than the weaker guarantee


def test_signed_ranks_are_scipys_and_equal_values_do_not_differ():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 12))
    assert wilcoxon_p(a, b) == pytest.approx(wilcoxon(a, b).pvalue)
    assert wilcoxon_p(a, a + 1e-13) == 1.0
    # Six differences of one sign: of 64 equally likely signs two are as extreme.
    assert wilcoxon_p(np.arange(1.0, 7), np.zeros(6)) == pytest.approx(2 / 64)


def test_corrections_count_the_tests_that_are_made():
    means = np.stack([np.arange(8.0) + 3 * np.arange(1, 9), np.arange(8.0), np.arange(8.0) - np.arange(1, 9)])
    smallest = 2 / 2**8
    assert against_one(means, 0) == pytest.approx([NAN, 2 * smallest, 2 * smallest], nan_ok=True)
    p = all_pairs(means)
    assert p[0, 1] == p[1, 0] == pytest.approx(3 * smallest)
    assert p.diagonal().tolist() == [1, 1, 1]


def test_cliques_by_hand():
    p = np.ones((4, 4))
    for i, j in ((0, 2), (0, 3), (1, 3)):
        p[i, j] = p[j, i] = 0.01
    assert cliques(p, [0, 1, 2, 3]) == [(0, 1), (1, 2), (2, 3)]
    assert cliques(np.ones((3, 3)), [2, 0, 1]) == [(0, 2)]  # and no stretch within it
    assert cliques(np.zeros((3, 3)), [0, 1, 2]) == []


def test_recovered_gaps_are_quotients_of_sums():
    floor, bound = np.full((3, 2), 80.0), np.array([[90.0, 90.0], [81.0, 81.0], [80.0, 79.0]])
    scores = np.array([[85.0, NAN], [82.0, 80.0], [90.0, 90.0]])
    found = recovered_gaps(
        scores, np.where(np.isnan(scores), NAN, floor), np.where(np.isnan(scores), NAN, bound), "aab"
    )
    assert found["a"] == pytest.approx((5 + 2 + 0) / (10 + 1 + 1))
    assert np.isnan(found["b"])


def test_unsafe_runs_and_time_by_hand():
    scores, reference = np.array([[90.0, 88.9, NAN]]), np.array([[91.0, 90.0, 95.0]])
    assert unsafe_runs(scores, reference) == (1, 2)  # exactly one point below is not more than one
    assert time_multiple(np.array([[2.0, 30.0, NAN]]), np.array([[1.0, 10.0, 5.0]])) == 2.5


def test_names_are_moved_apart_and_no_further():
    assert spread_out(np.array([0.0, 1.0, 5.0]), 1.0).tolist() == [0, 1, 5]
    assert spread_out(np.array([5.0, 0.0, 0.0]), 1.0) == pytest.approx([5, -0.5, 0.5])


# Bars and page


def met(results: dict[Run, dict]) -> list[bool | None]:
    found = bars(read_scores(classification(SEEDS), results.get), regression(SEEDS).render(results.get))
    return [bar.met for bar in found]


def test_bars_that_are_met_and_missed():
    assert met(played()) == [True] * 8
    # As good as another: not first for certain, and not behind it either.
    assert met(played(cleanlab=95.0)) == [False, *[True] * 7]
    # 2 of 6 points are a third of the gap, and less than a point below the reference.
    assert met(played(pgs_auto=91.9)) == [True, False, True, False, True, True, True, True]
    # Behind another in every cell, and every run unsafe.
    assert met(played(pgs_auto=90.5, safew=91.5)) == [False, False, False, False, True, False, True, True]


def test_bars_of_time_correction_and_regression_can_be_missed():
    results = played()
    for run, found in results.items():
        if run.method == PGS:
            found["metrics"]["f1"] = 92.9
            found["seconds"] = 31.0 if run.data == "digits" else 20.0  # one cell is enough
        if run.method == PGS_REGRESSOR and run.setting["set"] == "mpg":
            found["metrics"]["mse"] = 0.103
    assert met(results) == [True, True, True, True, False, True, False, False]


def test_bars_wait_for_every_run():
    results = played()
    for method in ("cleanlab", "ransac"):
        del results[runs(SEEDS, methods=[method])[-1]]
    assert met(results) == [None] * 8
    assert read_scores(classification(SEEDS), results.get).n_pairs == 5 * 19 - 1  # what all have run is shown


def test_the_page_says_what_the_results_are(tmp_path):
    results, figures, page = played(), tmp_path / "figures", tmp_path / "board.md"
    draw_board(results.get, figures)
    write_board(page, results.get, figures=figures, results_folder=tmp_path)
    text = page.read_text()
    assert "8 of 8 are met" in text
    assert "| PGS auto | 1.00 |  | 0.83 | 19 | 0 of 95 | 10.0 |" in text
    assert "95 pairs of cell and seed, in 19 cells" in text
    assert "(figures/board-ranks.svg)" in text
    assert "(figures/board-gain.svg)" in text
    drawings = {path.name: path.read_text() for path in figures.iterdir()}
    draw_board(results.get, figures)
    assert {path.name: path.read_text() for path in figures.iterdir()} == drawings


def test_the_page_of_no_results_claims_nothing(tmp_path):
    store = Store(tmp_path / "results")
    draw_board(store.read, tmp_path)
    write_board(tmp_path / "board.md", store.read, figures=tmp_path, results_folder=store.folder)
    text = (tmp_path / "board.md").read_text()
    assert "0 of 1 are met" in text
    assert "## All cells" not in text
    assert not list(tmp_path.glob("*.svg"))


def test_a_rehearsal_from_the_command_to_the_page(tmp_path, capsys):
    arguments = ["--quick", "--jobs", "1", "--only", "digits", "--methods", "baseline", "true_labels"]
    where = ["--results", str(tmp_path), "--page", str(tmp_path / "board.md"), "--figures", str(tmp_path)]
    assert command.main([*arguments, *where]) == 0
    assert "| Baseline |" in (tmp_path / "board.md").read_text()
    assert "2 runs, 0 of them stored" in capsys.readouterr().out
    assert command.main([*arguments, *where]) == 0
    assert "2 runs, 2 of them stored" in capsys.readouterr().out
    assert command.main(["--only", "nothing like it"]) == 2


def test_the_committed_page_is_what_the_committed_results_say(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[1])
    written = {}
    monkeypatch.setattr("experiments.board.page.write_whole", lambda path, text: written.update({path: text}))
    page, results = Path("docs/board.md"), Path("experiments/results")
    write_board(page, Store(results).read, figures=Path("docs/figures"), results_folder=results)
    assert written[page] == page.read_text(encoding="utf-8")
