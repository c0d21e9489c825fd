import socket
import time

import numpy as np
import pandas as pd
import pytest

from safegain import load
from safegain.data.ranks import ALONE
from safegain.jobs.shared_fitting import read_together
from safegain.runs import open_run
from safegain.tables import Source, read_problem
from tests.command import done, here
from tests.jobs.kills import begun
from tests.quick import quick_evidence
from tests.ranks_worker import digits
from tests.thread_ranks import in_threads


def test_two_processes_share_a_table_of_numbers(tmp_path):
    X, y, trusted = (part[:900] for part in digits())
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)]).assign(digit=y, checked=trusted)
    (tmp_path / "table").mkdir()
    frame.iloc[:350].to_parquet(tmp_path / "table" / "a.parquet", row_group_size=150)
    frame.iloc[350:].to_parquet(tmp_path / "table" / "b.parquet")
    model = ["--model", 'linear, solver={name="newton", tol=1e-12}', "--search", "free, n_outer=3"]
    options = [tmp_path / "table", "--label", "digit", "--trusted", "checked", *model, "--reference", "raw"]
    assert here("fit", *options, "--out", tmp_path / "1").count("labels are more likely wrong") == 1
    out = done("fit", *options, "--out", tmp_path / "2", processes=2)
    assert out.count("labels are more likely wrong") == 1
    alone, shared_one = (open_run(tmp_path / name) for name in ("1", "2"))
    assert len(list((tmp_path / "2").glob("labels-*-of-2.parquet"))) == 2
    np.testing.assert_allclose(shared_one.labels["weight"], alone.labels["weight"], rtol=1e-5, atol=1e-7)
    assert (shared_one.labels["corrected"] == alone.labels["corrected"]).all()
    assert (tmp_path / "2" / "report.html").exists()
    model = load(tmp_path / "2")
    few = frame[model.feature_names_in_]
    assert (model.predict(few) == load(tmp_path / "1").predict(frame)).mean() > 0.99


def marked_table(random):
    """Classes as words, marks as yes and no, an id, groups, a counter that is no feature, and missing labels."""
    x = random.normal(size=(120, 3))
    label = np.where(x[:, 0] > 0, "up", "down").astype(object)
    label[::10] = None
    frame = pd.DataFrame(x, columns=list("abc"))
    frame.insert(0, "counter", np.arange(120))
    marks = np.where(np.arange(120) % 3 == 1, "yes", " No ")
    return frame.assign(
        name=[f"r{i}" for i in range(120)],
        site=np.tile(["n", "s"], 60),
        label=label,
        marks=np.where(pd.isna(label), "no", marks),
    )


def test_shares_are_what_one_process_reads(tmp_path, monkeypatch):
    frame = marked_table(np.random.default_rng(0))
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=50)
    source = Source(str(path), "label", "marks", id="name", group="site", drop=("c",))
    problem = read_problem(source)
    monkeypatch.setattr("safegain.tables.shares.CELLS", 0)
    monkeypatch.setattr("safegain.tables.shares.FEWEST", 2)  # columns are then looked at in two lots
    shares = in_threads(2, lambda ranks: read_together(source, ranks))
    for name in ("y", "trusted", "ids", "groups"):
        assert np.concatenate([getattr(share, name) for share in shares]).tolist() == getattr(problem, name).tolist()
    assert shares[0].trusted.sum() > 10
    assert shares[1].names == list(problem.kinds) == ["a", "b"]
    X = np.concatenate([np.asarray(share.X[:]) for share in shares])
    assert X.tolist() == frame[["a", "b"]].to_numpy().tolist()
    assert shares[0].task == "classes"
    assert any("counter" in note for note in shares[0].notes)


def test_two_processes_know_marks_of_yes_and_no(tmp_path):
    marked_table(np.random.default_rng(0)).to_csv(tmp_path / "t.csv", index=False)
    options = ["--label", "label", "--trusted", "marks", "--id", "name", "--group", "site", "--model", "linear"]
    search = ["--search", "free, n_outer=1", "--reference", "raw", "--out", tmp_path / "run"]
    assert ended(pair("fit", tmp_path / "t.csv", *options, *search)) == [0, 0]
    run = open_run(tmp_path / "run")
    assert run.facts.rows.trusted == 36
    assert run.facts.rows.unlabelled == 12
    assert run.labels["id"].tolist() == [f"r{i}" for i in range(120)]
    assert {part.name for part in run.facts.by_group} <= {"n", "s"}
    assert load(tmp_path / "run").feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"trusted": None}, "several processes need a column that says which labels are right"),
        ({"checked": ("c.parquet",)}, "take no files of a review"),
        ({"kinds": {"a": "text"}}, "share a table of numbers; fit in one process, or --drop a"),
        ({"label": "c"}, "not numbers, and several processes share a table of numbers"),
        ({"label": "nothing"}, "'nothing'"),
        ({"id": "site"}, "'n'"),
        ({"kinds": {"nothing": "number"}}, "'nothing'"),
    ],
)
def test_what_processes_cannot_share_is_said(tmp_path, asked, words):
    path = tmp_path / "t.parquet"
    marked_table(np.random.default_rng(0)).to_parquet(path)
    source = Source(**{"train": str(path), "label": "label", "trusted": "marks", **asked})
    with pytest.raises(ValueError, match=words):
        read_together(source, ALONE)


def test_processes_agree_that_a_table_is_wrong(tmp_path):
    table = pd.DataFrame({"x": range(9), "y": range(9), "ok": [0, 1, 0, 1, 0, 1, 0, 1, 7]})
    table.to_parquet(tmp_path / "t.parquet")

    def said(ranks):
        with pytest.raises(ValueError, match="'7' is neither yes nor no") as caught:
            read_together(Source(str(tmp_path / "t.parquet"), "y", "ok"), ranks)
        return str(caught.value)

    assert len(set(in_threads(2, said))) == 1


def pair(*words):
    """Two processes of one command. Not by a launcher, whose processes would import everything again: a test above has
    one.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    return [begun(list(words), RANK=str(rank), **group) for rank in range(2)]


def ended(processes):
    for process in processes:
        process.join(240)
    return [process.exitcode for process in processes]


def mixed_table(folder):
    """Numbers, a category and a text, half of which go with the class; a file of trusted rows, and new rows."""
    random, n = np.random.default_rng(0), 300
    y = random.integers(2, size=n)
    wrong = random.random(n) < 0.3
    frame = pd.DataFrame(random.normal(size=(n, 2)) + y[:, None], columns=["a", "b"])
    frame["colour"] = np.where(random.random(n) < 0.7, np.array(["red", "blue"])[y], "green")
    frame["said"] = np.where(y == 1, "a good long day", "no news at all")
    frame["a"] = frame["a"].where(random.random(n) > 0.05)
    frame = frame.assign(kind=np.where(wrong, 1 - y, y), id=[f"r{i}" for i in range(n)])
    frame[:220].to_csv(folder / "t.csv", index=False)
    frame[150:220].assign(kind=y[150:220]).to_csv(folder / "trusted.csv", index=False)
    frame[220:].drop(columns="kind").to_csv(folder / "new.csv", index=False)
    return [folder / "t.csv", "--label", "kind", "--trusted", folder / "trusted.csv", "--id", "id", "--text", "said"]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """Of one process and of two."""
    folder = tmp_path_factory.mktemp("mixed")
    options = [*mixed_table(folder), "--model", "linear", "--model", "kernel", "--certificate", "0.3"]
    with quick_evidence():
        here("fit", *options, "--out", folder / "1")
    assert ended(pair("fit", *options, "--out", folder / "2")) == [0, 0]
    return folder, options


def test_the_default_in_two_processes_leaves_the_run_of_one(two_runs):
    folder, _ = two_runs
    alone, shared = (open_run(folder / name) for name in ("1", "2"))
    assert len(list((folder / "2").glob("labels-*-of-2.parquet"))) == 2
    pd.testing.assert_frame_equal(shared.labels, alone.labels, rtol=1e-6, atol=1e-9)
    assert shared.examples.equals(alone.examples)
    assert (
        shared.facts.columns
        == alone.facts.columns
        == {"a": "number", "b": "number", "colour": "category", "said": "text"}
    )
    assert shared.facts.certificate.sentence == alone.facts.certificate.sentence
    assert (folder / "2" / "report.html").exists()


@pytest.mark.parametrize("words", [["predict", "new.csv", "--id", "id"], ["labels"], ["report"]])
def test_a_run_of_two_processes_is_used_like_any_other(two_runs, words):
    folder, _ = two_runs
    command, *more = (folder / word if word == "new.csv" else word for word in words)
    first, second = (here(command, folder / name, *more) for name in ("1", "2"))
    assert first.replace(str(folder / "1"), "") == second.replace(str(folder / "2"), "")


def test_two_processes_of_which_one_is_killed_are_gone_on_with_by_one(two_runs, tmp_path):
    folder, options = two_runs
    both = pair("fit", *options, "--out", tmp_path / "run")
    while not list(tmp_path.glob("run/checkpoint/stage-*")) and both[1].is_alive():
        time.sleep(0.01)
    assert both[1].is_alive()
    both[1].kill()
    assert ended(both) == [2, -9]
    assert not (tmp_path / "run" / "run.json").exists()
    with quick_evidence():
        here("resume", tmp_path / "run")
    found, whole = (open_run(path).labels for path in (tmp_path / "run", folder / "2"))
    pd.testing.assert_frame_equal(found, whole, rtol=1e-6, atol=1e-9)
