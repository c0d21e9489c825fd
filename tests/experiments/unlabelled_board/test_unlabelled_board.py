"""The board of few labels: what is played, how it is judged, and its page, from results that are made up."""

import numpy as np
import pytest
from experiments.board.command import play
from experiments.board.scores import Scores
from experiments.board.strongest import name_strongest, read_strongest
from experiments.data.scarce import drawn_labels, n_labels, problem
from experiments.methods import label_graph, scarce_usual
from experiments.unlabelled_board.__main__ import BOARD
from experiments.unlabelled_board.bars import final_bars
from experiments.unlabelled_board.cells import DEVELOPMENT_CELLS, FINAL_CELLS, UnlabelledCell
from experiments.unlabelled_board.entries import ALONE, OWN_MODEL, PEERS
from experiments.unlabelled_board.page import write_page
from experiments.unlabelled_board.plan import DEVELOPMENT, FINAL

from safegain.datasets import DEVELOPMENT as DEVELOPMENT_SETS
from safegain.datasets import FINAL as FINAL_SETS


def results(ours=90.0, alone=80.0, theirs=70.0, self_training=75.0):
    """Every run has the same accuracy but for its seed."""

    def read(run):
        found = theirs
        if run.method == "scarce_safegain":
            found = alone if run.options.get("alone") else ours
        elif run.options.get("self_training"):
            found = self_training
        metrics = {"accuracy": found + 0.01 * run.seed + 0.001 * len(run.setting["set"])}
        return {"metrics": metrics, "seconds": 1.0, "versions": {"code": "a"}}

    return read


def test_cells():
    for cells, sets in ((FINAL_CELLS, FINAL_SETS), (DEVELOPMENT_CELLS, DEVELOPMENT_SETS)):
        assert {cell.set for cell in cells} == set(sets)
        assert len({cell.name for cell in cells}) == len(cells) == 4 * len(sets)
        assert all("unlabelled" in cell.name for cell in cells)  # ONLY=unlabelled is all of them
    assert (FINAL_CELLS[0].data, DEVELOPMENT_CELLS[0].data) == ("unlabelled_final", "unlabelled_development")
    cell = UnlabelledCell("letter", 5)
    assert (cell.few, cell.n_labels, cell.label) == (True, 130, "5 labels a class")
    assert UnlabelledCell("letter", 0.4).label == "40% labelled"
    assert len({entry.name for entry in PEERS}) == len(PEERS)
    assert all(peer in PEERS and own in ALONE for peer, own in OWN_MODEL.items())


def test_a_problem_has_few_right_labels_and_one_of_each_class():
    made = problem({"set": "digits", "labelled": 5}, 0)
    assert made.trusted.sum() == 50
    np.testing.assert_array_equal(made.y[made.trusted], made.true[made.trusted])
    assert (made.y[~made.trusted] == -1).all()
    assert len(np.unique(made.y)) == 11
    assert len(made.X) == int(0.6 * 1797)
    other = problem({"set": "digits", "labelled": 5}, 1)
    assert not np.array_equal(made.X, other.X)
    assert n_labels(0.4, 1000, 10) == 400
    y = np.array([0] * 99 + [1])
    assert all(drawn_labels(y, 5, np.random.default_rng(seed))[-1] for seed in range(5))  # the rare class has one


def test_methods_measure_themselves():
    made = problem({"set": "digits", "labelled": 10}, 0, quick=True)
    alone = scarce_usual.measure(made, 0, quick=True, family="logistic")["accuracy"]
    both = scarce_usual.measure(made, 0, quick=True, family="logistic", self_training=True)["accuracy"]
    graph = label_graph.measure(made, 0, quick=True, kind="spreading", kernel="knn")["accuracy"]
    assert min(alone, both, graph) > 60
    assert len(label_graph.settings("propagation", "rbf", 64)) == 3
    assert len(label_graph.settings("spreading", "knn", 64)) == 6


def test_bars_are_met_by_whom_they_should():
    scores = Scores(FINAL, results())
    strongest = list(PEERS[:6])
    tests, gain, share, unsafe, lost = final_bars(scores, strongest)
    assert [bar.met for bar in (tests, gain, share, unsafe, lost)] == [True] * 5
    assert "+10.00 points over 36 cells" in gain.numbers
    _, gain, share, unsafe, lost = final_bars(Scores(FINAL, results(ours=77.0)), strongest)
    assert (gain.met, share.met, unsafe.met, lost.met) == (False, False, False, False)
    assert lost.numbers == "3.00"
    _, gain, share, *_ = final_bars(Scores(FINAL, results(ours=82.0)), strongest)
    assert (gain.met, share.met) == (True, False)  # 2 of the 5 points that self-training gains
    assert final_bars(Scores(FINAL, lambda run: None), None)[0].met is None


def test_the_page_and_the_strongest_peers(tmp_path):
    write_page(tmp_path / "unlabelled.md", results(), results_folder=tmp_path)
    text = (tmp_path / "unlabelled.md").read_text()
    assert "| **Safegain** | 1.00 | 90.0" in text
    assert "| LabelPropagation, rbf | – | – | +20.00 | 12 : 0 |" in text  # of one seed: not ranked
    assert "Not run yet" not in text
    write_page(tmp_path / "unlabelled.md", lambda run: None, results_folder=tmp_path)
    assert (tmp_path / "unlabelled.md").read_text().count("Not run yet") == 2
    with pytest.raises(ValueError, match="no cell that all peers have run"):
        name_strongest(tmp_path, tmp_path / "strongest.json", PEERS, DEVELOPMENT, final="unlabelled_final")
    assert read_strongest(tmp_path / "strongest.json", PEERS) is None


def test_final_sets_wait_for_the_strongest_peers(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert play(BOARD, ["--final", "--only", "texture"]) == 2
    assert "the strongest peers are not named" in capsys.readouterr().out
