"""The strongest peers are named from development sets alone, and before final ones are run."""

import json

import pytest
from experiments.board.cells import DEVELOPMENT_CELLS
from experiments.board.entries import NETWORKS, PEERS
from experiments.board.plan import DEVELOPMENT
from experiments.board.strongest import name_strongest, read_strongest
from experiments.store import Store

from tests.experiments.board.boards import played


def stored(folder, accuracy, n_cells=3):
    store = Store(folder)
    settings = [cell.setting for cell in DEVELOPMENT_CELLS[-n_cells:]]
    for run, record in played(accuracy, DEVELOPMENT).items():
        if run.setting in settings and run.method not in ("safegain_default", "all_true"):
            store.write(record)


def test_the_best_mean_ranks_are_named_and_read_back(tmp_path):
    strong = [*PEERS[10:15], NETWORKS[0]]
    stored(tmp_path, lambda entry, cell, seed: 90 - strong.index(entry) if entry in strong else 70.0 + seed)
    path = tmp_path / "strongest.json"
    assert name_strongest(tmp_path, path) == strong
    assert read_strongest(path) == strong
    content = json.loads(path.read_text())
    assert content["mean ranks of all"][strong[0].name] == 1
    assert len(content["mean ranks of all"]) == len(PEERS)
    assert content["runs of each"] == 3  # cells of one seed


def test_nothing_is_named_from_nothing_or_after_the_final_run(tmp_path):
    with pytest.raises(ValueError, match="no cell that all peers have run"):
        name_strongest(tmp_path, tmp_path / "strongest.json")
    stored(tmp_path, lambda entry, cell, seed: 70.0)
    (tmp_path / "final.jsonl").touch()
    with pytest.raises(ValueError, match="final sets have been run"):
        name_strongest(tmp_path, tmp_path / "strongest.json")
    assert read_strongest(tmp_path / "strongest.json") is None


def test_a_name_that_is_not_on_the_board_is_told(tmp_path):
    path = tmp_path / "strongest.json"
    path.write_text('{"peers": ["Oracle"]}')
    with pytest.raises(ValueError, match="'Oracle' is not on the board"):
        read_strongest(path)
