"""Every command, as it is typed, on small real data: mixed columns, numbers, text, pictures."""

import gzip
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from safegain import Forest, Linear
from safegain.cli import app
from safegain.jobs.shown import choose_examples
from safegain.runs import RunError, open_run
from safegain.runs.loading import load
from tests.cli.cars import QUICK, fit_cars, fitted_here, shared
from tests.command import here


def test_fit_leaves_a_run_and_says_what_came_out(cars):
    told = json.loads((cars / "told.json").read_text())
    assert told["verdict"]["outcome"] == "safe"
    assert told["n_suspicious"] > 10
    assert told["rows"]["weak"] == 200
    assert told["rows"]["trusted"] == 120
    assert told["rows"]["unlabelled"] == 9
    facts = json.loads((cars / "run" / "run.json").read_text())
    assert facts["columns"]["cylinders"] == "category"
    assert facts["columns"]["horsepower"] == "number"
    assert "car" not in facts["columns"]
    assert facts["task"] == "classes"
    assert {path.name for path in (cars / "run").iterdir()} == {
        *("request.json", "run.json", "model.safetensors", "ledger.safetensors", "labels-1-of-1.parquet"),
        *("examples.parquet", "neighbours.parquet", "report.html"),
    }


def test_same_seed_same_bits_and_checked_rows_are_trusted(cars, tmp_path):
    checked = pd.DataFrame({"_row": [0, 1], "region": ["usa", "japan"]})
    checked.to_parquet(tmp_path / "checked.parquet")
    here("fit", *fit_cars(cars), "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (cars / "run/model.safetensors").read_bytes()
    here("fit", *fit_cars(cars), "--out", tmp_path / "more", "--checked", tmp_path / "checked.parquet")
    labels = pd.read_parquet(tmp_path / "more" / "labels-1-of-1.parquet")
    assert labels["trusted"].sum() == 122
    assert labels["corrected"][:2].tolist() == ["usa", "japan"]
    train = pd.read_csv(cars / "train.csv")["region"]
    assert labels["given"][1] == train[1]
    assert labels["sample"].sum() == 120
    assert labels["sample"][:2].tolist() == [False, False]
    request = json.loads((tmp_path / "more" / "request.json").read_text())
    assert "--checked" in request["command"]


def test_a_trusted_file_with_ids_keeps_both_labels(cars, tmp_path):
    """The report says how many of the checked labels were wrong, and the run has them all."""
    train = pd.read_csv(cars / "train.csv")
    right = pd.read_csv(cars / "trusted.csv")
    table = pd.concat([train, right.assign(region="usa")])  # as if everyone had said usa
    table.to_csv(tmp_path / "train.csv", index=False)
    right[["car", "region"]].to_csv(tmp_path / "right.csv", index=False)
    files = [tmp_path / "train.csv", "--trusted", tmp_path / "right.csv", "--label", "region", "--id", "car"]
    here("fit", *files, *QUICK, "--seed", 3, "--out", tmp_path / "run")
    facts, labels = open_run(tmp_path / "run").facts, open_run(tmp_path / "run").labels
    wrong = int((right["region"] != "usa").sum())
    assert (facts.checked.n, facts.checked.wrong, facts.checked.others) == (120, wrong, 0)
    assert [(each.name, each.n, each.wrong) for each in facts.checked.by_class] == [("usa", 120, wrong)]
    assert set(labels["given"][labels["trusted"]]) == {"usa"}
    assert labels["corrected"][labels["trusted"]].tolist() == right["region"].tolist()
    assert f"Of 120 checked labels {wrong} were wrong" in (tmp_path / "run" / "report.html").read_text()
    record = load(tmp_path / "run")[-1].record_
    assert (record.labels.classes[record.given[record.trusted]] == "usa").all()
    assert record.labels.given[record.trusted].tolist() == right["region"].tolist()


def test_numbers_with_a_column_of_trust(tmp_path):
    frame = pd.read_csv(shared("abalone.csv")).rename(columns={"target": "rings"}).sample(600, random_state=0)
    random = np.random.RandomState(0)
    frame["sex"] = frame["sex"].map({1: "m", 2: "f", 3: "i"}).fillna("i")
    frame["checked"] = np.where(random.rand(len(frame)) < 0.3, "yes", "no")
    frame["rings"] += np.where(frame["checked"] == "no", random.randn(len(frame)) * 3, 0)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    run = tmp_path / "run"
    command = ["fit", tmp_path / "t.parquet", "--label", "rings", "--trusted", "checked", "--out", run]
    told = CliRunner().invoke(app, list(map(str, command)))
    assert told.exit_code == 0, told.output
    assert "numbers" in told.stderr
    facts = json.loads((run / "run.json").read_text())
    assert facts["task"] == "numbers"
    assert facts["columns"]["sex"] == "category"
    frame.iloc[:50].to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    here("predict", run, tmp_path / "new.jsonl", "--out", tmp_path / "p.parquet")
    predicted = pd.read_parquet(tmp_path / "p.parquet")["prediction"]
    assert np.corrcoef(predicted, frame["rings"].iloc[:50])[0, 1] > 0.2
    here("labels", run)


def test_text_in_json_lines(tmp_path):
    with gzip.open(shared("ws_youtube.jsonl.gz"), "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    train, checked = [], []
    for i, row in enumerate(rows[:600]):
        votes = [vote for vote in row["weak_labels"] if vote >= 0]
        words = {0: "ham", 1: "spam", None: None}
        kept = {"id": f"c{i}", "text": row["text"]}
        train.append({**kept, "kind": words[round(np.mean(votes)) if votes else None]})
        if i % 6 == 0:
            checked.append({**kept, "kind": words[row["label"]]})
    for name, part in (("train", train), ("checked", checked)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in part), encoding="utf-8")
    files = [tmp_path / "train.jsonl", "--trusted", tmp_path / "checked.jsonl", "--id", "id", "--label", "kind"]
    here("fit", *files, "--out", tmp_path / "run", *QUICK)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["columns"] == {"text": "text"}
    assert facts["rows"]["trusted"] == len(checked)
    assert facts["rows"]["all"] == len(train)
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": rows[1500]["text"]}) + "\n" + '{"text": "nice song"}\n')
    here("predict", tmp_path / "run", tmp_path / "new.jsonl", "--out", tmp_path / "p.csv")
    assert set(pd.read_csv(tmp_path / "p.csv")["prediction"]) <= {"ham", "spam"}


def test_pictures_in_an_npz(tmp_path):
    with np.load(shared("mnist.npz")) as arrays:
        images, target = arrays["x"][:400], arrays["y"][:400]
    random = np.random.RandomState(0)
    trusted = random.rand(400) < 0.3
    noisy = np.where(trusted | (random.rand(400) < 0.7), target, (target + 1) % 10)
    np.savez(tmp_path / "digits.npz", picture=images, digit=noisy, right=trusted)
    options = ["--label", "digit", "--trusted", "right", "--out", tmp_path / "run", *QUICK]
    here("fit", tmp_path / "digits.npz", *options)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["columns"] == {"picture": "image"}
    examples = pd.read_parquet(tmp_path / "run" / "examples.parquet")
    assert all(picture.startswith(b"\x89PNG") for picture in examples["picture"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--model", "stump"], "model: 'stump' is not known"),
        (["--model", "linear", "--model", "auto, n_trees=5"], "model: auto takes no settings"),
        (
            ["--model", "linear", "--model", "forest", "--search", "free"],
            "search: 'free' follows the derivatives",
        ),
        (["--model", "network, n_outer=5"], "model: Network takes no option 'n_outer'; it is an option of Free"),
        (["--workspace", "space"], "search: Auto takes no option 'workspace'; it is an option of Free"),
        (["--certificate", "never"], "certificate: Claims: delta must be"),
        (["--certificate", "0.05,colour=1"], "certificate: Claims takes no option 'colour'"),
        (["--certificate", "7"], "certificate: Claims: delta must be"),
        (["--safeness", "perfect"], "safeness: 'perfect' is not known"),
        (["--safeness", "measures:beauty"], "safeness"),
        (["--model", "network, recipe={n_steps=0}"], "recipe: Recipe: n_steps must be"),
        (["--search", "free, n_outer=0"], "search: Free: n_outer must be"),
        (["--task", "poetry"], "task"),
        (["--number", "mpg", "--text", "mpg"], "--text mpg"),
        (["--drop", "colour"], "colour"),
        (["--group", "colour"], "colour"),
        (["--checked", "nowhere.parquet"], "nowhere.parquet"),
    ],
)
def test_wrong_settings_are_said_in_one_line_and_nothing_is_written(cars, tmp_path, option, message):
    ended = fitted_here(cars, tmp_path / "out", *option)
    assert ended.exit_code == 2, ended.output
    assert message in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_several_models_compete_and_their_run_is_read_like_any_other(cars, tmp_path):
    models = ["--model", "linear", "--model", "forest, n_trees=10"]
    ended = fitted_here(cars, tmp_path / "run", *models)
    assert ended.exit_code == 0, ended.output
    request = json.loads((tmp_path / "run" / "request.json").read_text())
    assert request["settings"]["model"] == models[1::2]
    assert [word for word in request["command"] if word in models] == models
    estimator = load(tmp_path / "run")[-1]
    assert estimator.model == [Linear(), Forest(n_trees=10)]
    board = estimator.leaderboard_
    assert set(board["learner"].str.extract(r"(\w+)\(")[0]) == {"Linear", "Forest"}
    report = (tmp_path / "run" / "report.html").read_text()
    assert "The learners that took part" in report
    assert "10 trees, leaves of " in report
    here("predict", tmp_path / "run", cars / "fresh.csv", "--out", tmp_path / "p.csv")
    assert set(pd.read_csv(tmp_path / "p.csv")["prediction"]) <= {"usa", "europe", "japan"}


def test_a_folder_that_is_in_use_or_not_empty_is_left_alone(cars, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for out in (tmp_path / "mine", cars / "run", cars / "train.csv"):
        ended = CliRunner().invoke(app, ["fit", *map(str, fit_cars(cars)), "--out", str(out)])
        assert ended.exit_code == 2
        assert "is not empty" in ended.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_trusted_rows_that_are_in_the_training_file_need_an_id(cars, tmp_path):
    trusted = pd.read_csv(cars / "trusted.csv")
    both = pd.concat([pd.read_csv(cars / "train.csv"), trusted.assign(region="usa")])
    both.to_csv(tmp_path / "train.csv", index=False)
    command = ["fit", tmp_path / "train.csv", "--trusted", cars / "trusted.csv", "--label", "region", *QUICK]
    ended = CliRunner().invoke(app, [*map(str, command), "--out", str(tmp_path / "out")])
    assert ended.exit_code == 2
    assert "120 of its rows" in ended.stderr
    assert "--id" in ended.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_elses_is_no_checkpoint(cars, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(cars / "run", other)
    before = sorted(path.name for path in other.iterdir())
    command = ["fit", *fit_cars(cars), "--out", tmp_path / "out", "--checkpoint", other]
    ended = CliRunner().invoke(app, list(map(str, command)))
    assert ended.exit_code == 2
    assert "holds other files" in ended.stderr
    assert sorted(path.name for path in other.iterdir()) == before


def test_a_fit_that_fails_takes_nothing_of_others_with_it(cars, tmp_path, monkeypatch):
    def fails(*_, **__):
        (tmp_path / "out" / "letter.txt").write_text("dear")
        raise ValueError("some input is wrong")

    monkeypatch.setattr("safegain.estimators.base.PGS._learn", fails)
    ended = CliRunner().invoke(app, ["fit", *map(str, fit_cars(cars)), "--out", str(tmp_path / "out")])
    assert ended.exit_code == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["letter.txt"]


def test_what_was_learned_is_kept_until_it_is_written_down(cars, tmp_path, monkeypatch):
    def full(*_, **__):
        raise RunError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("safegain.jobs.fitting.write_run", full)
        assert fitted_here(cars, tmp_path / "out").exit_code == 2
    assert (tmp_path / "out" / "checkpoint" / "stage-last-evidence.safetensors").exists()
    with monkeypatch.context() as patch:
        patch.setattr("safegain.search.class_task.find_evidence", full)  # nothing is left to be found
        assert CliRunner().invoke(app, ["resume", str(tmp_path / "out")]).exit_code == 0
    assert not (tmp_path / "out" / "checkpoint").exists()
    written = [(folder / "model.safetensors").read_bytes() for folder in (cars / "run", tmp_path / "out")]
    assert written[0] == written[1]


def test_what_fails_after_something_was_learned_leaves_it_there(cars, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise ValueError("something is wrong")

    monkeypatch.setattr("safegain.jobs.fitting.facts_of_rows", fails)
    assert fitted_here(cars, tmp_path / "out").exit_code == 2
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["checkpoint", "request.json"]
    assert (tmp_path / "out" / "checkpoint" / "stage-last-evidence.safetensors").exists()


def test_a_checkpoint_elsewhere_is_removed_when_the_run_is_written(cars, tmp_path):
    assert fitted_here(cars, tmp_path / "out", "--checkpoint", str(tmp_path / "kept")).exit_code == 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["rank-0.lock"]


@pytest.mark.parametrize("how", ["gone", "sorted"])
def test_a_table_that_changes_while_a_fit_goes_on_costs_only_the_rows_to_look_at(cars, tmp_path, monkeypatch, how):
    for name in ("train.csv", "trusted.csv"):
        shutil.copy(cars / name, tmp_path / name)

    def changed(rows, plain=choose_examples):
        frame = pd.read_csv(tmp_path / "train.csv")
        (tmp_path / "train.csv").unlink()
        if how == "sorted":
            frame.sort_values("weight").to_csv(tmp_path / "train.csv", index=False)
        return plain(rows)

    monkeypatch.setattr("safegain.jobs.shown.choose_examples", changed)
    ended = fitted_here(tmp_path, tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert "was changed while the fit went on" in ended.stderr
    run = open_run(tmp_path / "out")
    assert run.examples is None
    assert "was changed" in run.facts.notes[-1]
    assert (run.labels["weight"] == open_run(cars / "run").labels["weight"]).all()
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--safeness", "per-group"], "needs the group of every row"),
        (["--certificate", "0.05,size=1"], "certificate: size=1 sets 1 of 120 trusted rows aside"),
        (["--certificate", "0.05,per_group=true"], "certificate: per_group=True needs the group of every row"),
        (["--certificate", "0.05,tolerance={brier=0.1}"], "tolerance: names ['brier']"),
        (["--search", "free", "--model", 'network, solver={name="closed-form"}'], "ClosedForm is for a linear model"),
    ],
)
def test_settings_that_cannot_be_are_said_before_anything_is_learned(cars, tmp_path, options, words):
    ended = fitted_here(cars, tmp_path / "out", *options)
    assert ended.exit_code == 2
    assert words in ended.stderr
    assert not (tmp_path / "out").exists()


def test_no_certificate_without_trusted_rows(cars, tmp_path):
    command = ["fit", cars / "train.csv", "--label", "region", "--certificate", "0.05", "--out", tmp_path / "out"]
    ended = CliRunner().invoke(app, list(map(str, command)))
    assert ended.exit_code == 2
    assert "--trusted" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_few_right_labels_and_rows_without_one(tmp_path):
    """What the others were worth is said at once, in the report, and to programs; the run has it."""
    X, y = (part[:240] for part in load_digits(n_class=3, return_X_y=True))
    labelled = np.arange(240) % 6 == 0
    table = pd.DataFrame(X).add_prefix("p").assign(digit=np.where(labelled, y, -1), right=labelled)
    table.to_csv(tmp_path / "train.csv", index=False)
    asked = ["fit", tmp_path / "train.csv", "--label", "digit", "--trusted", "right", "--model", "forest, n_trees=10"]
    told = CliRunner().invoke(app, [*map(str, asked), "--seed", "0", "--out", str(tmp_path / "run")])
    assert told.exit_code == 0, told.output
    assert "With 20 labels, the other rows were worth" in told.output
    run = open_run(tmp_path / "run")
    assert run.facts.rows.unlabelled == 200
    assert run.facts.worth.labels == [10, 20, 32]
    report = (tmp_path / "run" / "report.html").read_text()
    assert "200 of 240 rows have no label." in report
    assert "A label would tell most for row " in report
    assert load(tmp_path / "run")["model"].worth_.labels == (10, 20, 32)
