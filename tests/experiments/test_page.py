"""docs/results.md."""

import sys
from pathlib import Path

from experiments.artefacts import artefacts
from experiments.entry import Entry
from experiments.grid import Column
from experiments.page import table_section, write_page
from experiments.store import Store

from tests.experiments.fakes import SETTING, filled, make_grid


def test_section_of_a_table(store, fakes, monkeypatch):
    columns = [Column("half", "fake", SETTING, {"clever": 83.4}, group=group) for group in ("", "Others")]
    grid = make_grid(columns[:1], ["raw", "clever"], seeds=range(2), baseline="raw")
    table = filled(grid, {"raw": [70, 80], "clever": [90, 79]}, store)
    monkeypatch.setitem(sys.modules["experiments.page"].NOTES, "table-fake", "Because.")
    text = table_section(table, jobs=2)
    assert "| Raw | 75.0 ± 7.1 |" in text
    assert "| Clever | **84.5 ± 7.8** [83.4], unsafe 1/2 |" in text
    assert "2 seeds" in text
    assert "Computing: 8 s in 4 runs of one thread, some 4 s with 2 at a time on a cpu, 2 cores." in text
    assert "Because." in text
    assert "| Clever | half | 0: 90.0, 1: 79.0 |" in text


def test_what_a_row_is_the_best_of_is_folded_away(store, fakes):
    fakes.module("methods.best", NAME="The best", AMONG=(Entry("Raw again", "raw"), Entry("Clever again", "clever")))
    grid = make_grid([Column("half", "fake", SETTING)], ["raw", "best"], seeds=range(2), baseline="raw")
    text = table_section(filled(grid, {"raw": [70, 80], "clever": [90, 79]}, store), jobs=2)
    shown, usual, seeds = text.split("<details>")
    assert "| The best | **84.5 ± 7.8** (Clever again), unsafe 1/2 |" in shown
    assert "Raw again" not in shown
    assert "| Raw again | 75.0 ± 7.1 |\n| Clever again | **84.5 ± 7.8**, unsafe 1/2 |" in usual
    assert "| Clever again | half | 0: 90.0, 1: 79.0 |" in seeds


def test_the_page_of_no_results_claims_nothing(store, tmp_path):
    write_page(tmp_path / "page.md", artefacts(), store.read, figures=tmp_path / "figures", results_folder=store.folder)
    text = (tmp_path / "page.md").read_text()
    assert text.count("\n## ") == 1  # the bars alone
    assert "yes" not in text.split("## Bars")[1]


def test_the_committed_page_is_what_the_committed_results_say(monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    written = {}
    monkeypatch.setattr("experiments.page.write_whole", lambda path, text: written.update({path: text}))
    page, results = Path("docs/results.md"), Path("experiments/results")
    write_page(page, artefacts(), Store(results).read, figures=Path("docs/figures"), results_folder=results)
    assert written[page] == page.read_text(encoding="utf-8")
