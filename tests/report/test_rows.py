"""The most suspicious rows."""

import numpy as np
import pandas as pd
import pytest

from safegain.report.rows import MOST_ROWS, most_suspicious
from safegain.runs import open_run
from safegain.runs.loading import load
from tests.command import here
from tests.report.html import change, page
from tests.run_folders import make_run
from tests.search.samples import digits


@pytest.mark.parametrize(("task", "words"), [("numbers", "how surethat it is wrong: "), ("classes", "this is")])
def test_a_number_is_doubted_and_a_class_suggested(tmp_path, task, words):
    folder = make_run(tmp_path / "run", task=task)
    labels = pd.read_parquet(folder / "labels-1-of-1.parquet").assign(confidence=0.83)
    labels.to_parquet(folder / "labels-1-of-1.parquet", index=False)
    assert page(folder).text.count(f"{words}very likely (0.83)") == MOST_ROWS


def test_a_large_run_makes_a_small_report(tmp_path):
    """As much of everything as there can be: many classes and columns, long texts, pictures that do not pack."""
    words = [f"{i} " + "long text " * 200 for i in range(300)]
    folder = make_run(tmp_path / "run", n=1000, words=words)
    noise = np.random.default_rng(0).bytes(60_000)
    examples = pd.read_parquet(folder / "examples.parquet")
    examples["picture"] = [b"\x89PNG\r\n\x1a\n" + noise] * len(examples)
    examples.to_parquet(folder / "examples.parquet")
    history = [{"step": i, "rank_loss": 1 / (i + 1), "safe": True} for i in range(5000)]
    change(folder, history=history, columns=dict.fromkeys(words, "text"))
    assert len(page(folder).having("img")) == 30
    assert (folder / "report.html").stat().st_size < 3_000_000


def test_rows_in_the_order_of_the_issues(tmp_path):
    run = open_run(make_run(tmp_path / "run", pictures=True))
    found = most_suspicious(run)
    assert [row.row for row in found] == run.issues["row"].head(MOST_ROWS).tolist()
    assert [row.name for row in found] == [f"id-{row.row}" for row in found]
    assert found[0].values == [(name, f"{name} {found[0].row}") for name in ("age", "town", "comment")]
    assert all(row.picture.startswith("data:image/png;base64,") for row in found)


def test_the_papers_search_suggests_what_the_model_that_is_handed_over_says(tmp_path):
    X, noisy, true, trusted = digits(400, k=5)
    table = pd.DataFrame(X).add_prefix("pixel")
    table.assign(label=noisy, checked=trusted).to_parquet(tmp_path / "t.parquet")
    search = ["--search", "free", "--model", "network, n_hidden=64, recipe={n_steps=300}", "--reference", "raw"]
    here("fit", tmp_path / "t.parquet", "--label", "label", "--trusted", "checked", *search, "--out", tmp_path / "run")
    run, model = open_run(tmp_path / "run"), load(tmp_path / "run")
    assert not model[-1].safeness_.fell_back
    shown = most_suspicious(run)
    rows = [each.row for each in shown]
    said = model.predict_proba(table.iloc[rows])
    weight, moved = model[-1].sample_weight_[rows], model[-1].label_distribution_[rows]
    assert (weight < 0.1).sum() > 10
    # What is left of the given label is w Q; the rest of each row is the model's own answer.
    assert (moved >= (1 - weight)[:, None] * said - 1e-5).all()
    said[np.arange(len(rows)), noisy[rows]] = -1
    gone = weight < 0.1
    assert [each.suggested for each in np.array(shown)[gone]] == [str(c) for c in said.argmax(axis=1)[gone]]
    assert np.mean([each.suggested == str(true[each.row]) for each in shown]) > 0.8
