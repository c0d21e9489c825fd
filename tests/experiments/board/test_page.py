"""docs/board.md and its drawing."""

from pathlib import Path

from experiments.board import page as board_page
from experiments.board.judging import Difference
from experiments.board.page import draw_board, write_board
from experiments.board.plots import draw_differences
from experiments.board.scores import Scores
from experiments.board.sections import cells_table, peers_table
from experiments.store import Store

from tests.experiments.board.boards import BEST, PART, played


def test_tables_say_what_the_results_are():
    scores = Scores(PART, played().get)
    peers = peers_table(scores, [BEST])
    assert "9 pairs of cell and seed, in 3 cells of 2 sets" in peers  # cleanlab has three seeds
    assert "| **Safegain, trusted=** | 1.00 | 88.0" in peers
    assert "| ExtraTrees, leaf 5, raw + trusted ★ | 2.00 | 85.0" in peers
    assert "| 2 : 0 | 0.5000 | 1.0 |" in peers
    cells = cells_table(scores)
    assert "| ring | uniform 30%, 1,000 trusted | 88.0 | 85.0 | ExtraTrees, leaf 5, raw + trusted |" in cells
    assert "| 90.0 |" in cells


def test_the_whole_page_of_final_results_has_bars_and_a_drawing(tmp_path, monkeypatch):
    monkeypatch.setattr(board_page, "FINAL", PART)
    monkeypatch.setattr(board_page, "PARTS", (PART, *board_page.PARTS[1:]))
    results = played().get
    draw_board(results, tmp_path / "figures")
    write_board(tmp_path / "board.md", results, figures=tmp_path / "figures", results_folder=tmp_path)
    text = (tmp_path / "board.md").read_text()
    assert "(figures/board-differences.svg)" in text
    assert "0 of 3 behind" in text
    assert "0.60 over the 3 cells" in text
    first = (tmp_path / "figures" / "board-differences.svg").read_text()
    draw_board(results, tmp_path / "figures")
    assert (tmp_path / "figures" / "board-differences.svg").read_text() == first


def test_the_page_of_no_results_claims_nothing(tmp_path):
    store = Store(tmp_path / "results")
    draw_board(store.read, tmp_path)
    write_board(tmp_path / "board.md", store.read, figures=tmp_path, results_folder=store.folder)
    text = (tmp_path / "board.md").read_text()
    assert "| yes |" not in text
    assert "**NO**" not in text
    assert text.count("Not run yet.") == 3
    assert not list(tmp_path.glob("*.svg"))


def test_cells_that_are_behind_are_drawn_in_another_colour(tmp_path):
    draw_differences(tmp_path / "a.svg", {"a": Difference(1.0, 2.0), "b": Difference(-2.0, -1.0)})
    draw_differences(tmp_path / "b.svg", {"a": Difference(1.0, 2.0), "b": Difference(-2.0, -0.4)})
    assert ["d55e00" in (tmp_path / name).read_text() for name in ("a.svg", "b.svg")] == [True, False]


def test_the_committed_page_is_what_the_committed_results_say(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    written = {}
    monkeypatch.setattr("experiments.board.page.write_whole", lambda path, text: written.update({path: text}))
    page, results = Path("docs/board.md"), Path("experiments/results")
    write_board(page, Store(results).read, figures=Path("docs/figures"), results_folder=results)
    assert written[page] == page.read_text(encoding="utf-8")
