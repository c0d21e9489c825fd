"""docs/board.md and its drawings."""

from pathlib import Path

from experiments.board.page import draw_board, write_board
from experiments.store import Store

from tests.experiments.board.boards import played


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


def test_the_committed_page_is_what_the_committed_results_say(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
    written = {}
    monkeypatch.setattr("experiments.board.page.write_whole", lambda path, text: written.update({path: text}))
    page, results = Path("docs/board.md"), Path("experiments/results")
    write_board(page, Store(results).read, figures=Path("docs/figures"), results_folder=results)
    assert written[page] == page.read_text(encoding="utf-8")
