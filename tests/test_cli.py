"""Every command, as it is typed, on small real data: mixed columns, numbers, text, pictures."""

import gzip
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from command import ENVIRONMENT, done, safegain, start
from ranks_worker import digits
from run_folders import make_run
from thread_ranks import in_threads
from typer.testing import CliRunner

from safegain import PGSClassifier, load
from safegain.cli import app
from safegain.cli.fit import SETTINGS
from safegain.cli.talk import printable
from safegain.datasets.files import find_file
from safegain.jobs.fitting import locked
from safegain.jobs.shared_fitting import read_together
from safegain.jobs.shown import choose_examples
from safegain.runs import RunError, open_run
from safegain.runs.words import judged
from safegain.tables import Source
from safegain.tables.files import digest_of

QUICK = ["--recipe", "n_steps=300,n_hidden=64"]


def shared(name):
    path = find_file(name)
    if path is None:
        pytest.skip(f"{name} was not found: SAFEGAIN_DATA names the folder with the data sets")
    return path


@pytest.fixture(scope="module")
def cars(tmp_path_factory):
    """Cars with their region; a third of the regions are wrong, some are missing; three files and a finished run."""
    folder = tmp_path_factory.mktemp("cars")
    frame = pd.read_csv(shared("mpg.csv")).rename(columns={"target": "mpg"})
    random = np.random.RandomState(0)
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    regions = np.array(["usa", "europe", "japan"])
    truth = frame.pop("origin").to_numpy() - 1
    frame["cylinders"] = frame["cylinders"].map(lambda n: f"{n} cylinders")
    frame.loc[::17, "horsepower"] = np.nan
    frame.insert(0, "car", [f"car {i}" for i in range(len(frame))])
    wrong = np.where(random.rand(len(frame)) < 0.3, (truth + 1) % 3, truth)
    train, trusted, fresh = slice(0, 200), slice(200, 320), slice(320, None)
    weak = frame.assign(region=regions[wrong])[train]
    weak.loc[::23, "region"] = None
    weak.to_csv(folder / "train.csv", index=False)
    frame.assign(region=regions[truth])[trusted].to_csv(folder / "trusted.csv", index=False)
    frame.assign(region=regions[truth])[fresh].to_csv(folder / "fresh.csv", index=False)
    told = done("fit", *fit_cars(folder), "--out", folder / "run", "--json")
    (folder / "told.json").write_text(told)
    return folder


def here(*words):
    """What `done` gives, without a process of its own: its start takes longer than most commands."""
    ended = CliRunner().invoke(app, list(map(str, words)))
    assert ended.exit_code == 0, ended.output
    return ended.stdout


def fit_cars(folder):
    files = [folder / "train.csv", "--trusted", folder / "trusted.csv"]
    return [*files, "--label", "region", "--id", "car", "--seed", 3, *QUICK]


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
        *("request.json", "run.json", "model.safetensors", "labels-1-of-1.parquet"),
        *("examples.parquet", "neighbours.parquet", "report.html"),
    }


def test_predictions_are_those_of_python(cars, tmp_path):
    done("predict", cars / "run", cars / "fresh.csv", "--out", tmp_path / "p.csv", "--id", "car")
    found = pd.read_csv(tmp_path / "p.csv")
    frame = pd.read_csv(cars / "fresh.csv")
    model = load(cars / "run")
    assert found["prediction"].tolist() == model.predict(frame).tolist()
    assert found["id"].tolist() == frame["car"].tolist()
    np.testing.assert_allclose(found["p(usa)"], model.predict_proba(frame)[:, 2], atol=1e-12)
    assert here("predict", cars / "run", cars / "fresh.csv").startswith('"row","prediction","p(europe)"')


def test_labels_as_table_csv_parquet_and_label_studio(cars, tmp_path):
    assert "suggested" in done("labels", cars / "run", "--top", 3)
    for name in ("l.csv", "l.parquet", "l.json", "L.CSV", "L.JSON"):
        assert CliRunner().invoke(app, ["labels", str(cars / "run"), "--out", str(tmp_path / name)]).exit_code == 0
    table, exact = pd.read_csv(tmp_path / "l.csv"), pd.read_parquet(tmp_path / "l.parquet")
    assert table.columns.tolist() == ["row", "id", "given", "suggested", "confidence", "weight", "suspicion"]
    assert (table["given"] == exact["given"]).all()
    train = pd.read_csv(cars / "train.csv")
    assert (train["region"][table["row"]].to_numpy() == table["given"]).all()
    assert (train["car"][table["row"]].to_numpy() == table["id"]).all()
    assert (tmp_path / "L.CSV").read_bytes() == (tmp_path / "l.csv").read_bytes()
    tasks = json.loads((tmp_path / "L.JSON").read_text())
    assert [task["data"]["safegain_row"] for task in tasks] == table["row"].tolist()
    assert len(json.loads(done("labels", cars / "run", "--json"))) == len(table)


def test_a_label_studio_export_comes_back_as_checked_rows(cars, tmp_path):
    done("labels", cars / "run", "--out", tmp_path / "tasks.json", "--top", 5)
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    for task in tasks:
        task["annotations"] = [{"result": task.pop("predictions")[0]["result"]}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    from safegain.review import import_decisions
    from safegain.tables.label_studio import from_export

    assert import_decisions(cars / "run", from_export(tmp_path / "export.json")) == len(tasks)
    (cars / "run" / "review.sqlite").unlink()


def test_certify_on_fresh_rows_and_never_on_rows_of_the_fit(cars):
    ended = safegain("certify", cars / "run", cars / "fresh.csv", "--json")
    facts = json.loads(ended.stdout)
    assert ended.returncode == int(not facts["certified"])
    assert json.loads((cars / "run" / "certificate-1.json").read_text())["p_value"] == facts["p_value"]
    assert "Later certificates" in (cars / "run" / "report.html").read_text()
    (cars / "run" / "certificate-1.json").unlink()
    again = CliRunner().invoke(app, ["certify", str(cars / "run"), str(cars / "trusted.csv")])
    assert again.exit_code == 2
    assert "were in the fit" in again.stderr


def test_report_and_resume_of_a_finished_run(cars):
    before = (cars / "run" / "model.safetensors").read_bytes()
    path = Path(done("report", cars / "run").strip())
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert "nothing to go on with" in safegain("resume", cars / "run").stderr
    assert (cars / "run" / "model.safetensors").read_bytes() == before


def test_same_seed_same_bits_and_checked_rows_are_trusted(cars, tmp_path):
    checked = pd.DataFrame({"_row": [0, 1], "region": ["usa", "japan"]})
    checked.to_parquet(tmp_path / "checked.parquet")
    here("fit", *fit_cars(cars), "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (cars / "run/model.safetensors").read_bytes()
    here("fit", *fit_cars(cars), "--out", tmp_path / "more", "--checked", tmp_path / "checked.parquet")
    labels = pd.read_parquet(tmp_path / "more" / "labels-1-of-1.parquet")
    assert labels["trusted"].sum() == 122
    assert labels["given"][:2].tolist() == ["usa", "japan"]
    request = json.loads((tmp_path / "more" / "request.json").read_text())
    assert "--checked" in request["command"]


def test_numbers_with_a_column_of_trust(tmp_path):
    frame = pd.read_csv(shared("abalone.csv")).rename(columns={"target": "rings"}).sample(600, random_state=0)
    random = np.random.RandomState(0)
    frame["sex"] = frame["sex"].map({1: "m", 2: "f", 3: "i"}).fillna("i")
    frame["checked"] = np.where(random.rand(len(frame)) < 0.3, "yes", "no")
    frame["rings"] += np.where(frame["checked"] == "no", random.randn(len(frame)) * 3, 0)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    run = tmp_path / "run"
    told = safegain("fit", tmp_path / "t.parquet", "--label", "rings", "--trusted", "checked", "--out", run)
    assert told.returncode == 0, told.stderr
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
    for i, row in enumerate(rows[:1200]):
        votes = [vote for vote in row["weak_labels"] if vote >= 0]
        words = {0: "ham", 1: "spam", None: None}
        kept = {"id": f"c{i}", "text": row["text"]}
        train.append({**kept, "kind": words[round(np.mean(votes)) if votes else None]})
        if i % 6 == 0:
            checked.append({**kept, "kind": words[row["label"]]})
    for name, part in (("train", train), ("checked", checked)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in part), encoding="utf-8")
    files = [tmp_path / "train.jsonl", "--trusted", tmp_path / "checked.jsonl", "--id", "id", "--label", "kind"]
    done("fit", *files, "--out", tmp_path / "run", *QUICK)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["columns"] == {"text": "text"}
    assert facts["rows"]["trusted"] == len(checked)
    assert facts["rows"]["all"] == len(train)
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": rows[1500]["text"]}) + "\n" + '{"text": "nice song"}\n')
    here("predict", tmp_path / "run", tmp_path / "new.jsonl", "--out", tmp_path / "p.csv")
    assert set(pd.read_csv(tmp_path / "p.csv")["prediction"]) <= {"ham", "spam"}


def test_pictures_in_an_npz(tmp_path):
    with np.load(shared("mnist.npz")) as arrays:
        images, target = arrays["x"][:800], arrays["y"][:800]
    random = np.random.RandomState(0)
    trusted = random.rand(800) < 0.3
    noisy = np.where(trusted | (random.rand(800) < 0.7), target, (target + 1) % 10)
    np.savez(tmp_path / "digits.npz", picture=images, digit=noisy, right=trusted)
    options = ["--label", "digit", "--trusted", "right", "--out", tmp_path / "run", *QUICK]
    done("fit", tmp_path / "digits.npz", *options)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["columns"] == {"picture": "image"}
    examples = pd.read_parquet(tmp_path / "run" / "examples.parquet")
    assert all(picture.startswith(b"\x89PNG") for picture in examples["picture"])


def test_the_demo_from_files_to_a_run(tmp_path):
    out = done("demo", tmp_path / "demo")
    assert "Certified" in out or "Not certified" in out
    facts = json.loads((tmp_path / "demo" / "run" / "run.json").read_text())
    assert facts["columns"] == {"picture": "image"}
    assert facts["rows"]["weak"] == 1000
    labels = pd.read_parquet(tmp_path / "demo" / "run" / "labels-1-of-1.parquet")
    assert 250 < (labels["corrected"] != labels["given"]).sum() < 500  # 400 are wrong
    certify = ["certify", tmp_path / "demo" / "run", tmp_path / "demo" / "fresh.csv"]
    assert CliRunner().invoke(app, list(map(str, certify))).exit_code in (0, 1)
    assert CliRunner().invoke(app, ["demo", str(tmp_path / "demo")]).exit_code == 2


# What is typed


def test_every_argument_of_the_estimators_is_an_option():
    arguments = set(inspect.signature(PGSClassifier).parameters)
    assert set(SETTINGS) == arguments - {"callbacks", "verbose", "random_state"}  # code; --quiet; --seed
    command = next(c for c in app.registered_commands if c.callback.__name__ == "fit")
    assert set(SETTINGS) <= set(inspect.signature(command.callback).parameters)


def test_a_config_file_gives_options_and_what_is_typed_wins(tmp_path):
    (tmp_path / "run.toml").write_text('label = "y"\nn-outer = 7\ndrop = ["a", "b"]\nseed = 5\nout = "r"\n')
    seen = {}

    def spy(params, command, talk):
        seen.update(params=params, command=command)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.cli.fit.run_fit", spy)
        ended = CliRunner().invoke(app, ["fit", "t.csv", "--config", str(tmp_path / "run.toml"), "--seed", "9"])
    assert ended.exit_code == 0, ended.output
    assert seen["params"]["label"] == "y"
    assert seen["params"]["n_outer"] == 7
    assert list(seen["params"]["drop"]) == ["a", "b"]
    assert seen["params"]["seed"] == 9
    words = " ".join(seen["command"])
    assert "--n-outer 7" in words
    assert "--drop a --drop b" in words
    assert "--config" not in words
    assert os.path.isabs(seen["command"][1])


@pytest.mark.parametrize("line", ['colour = "red"', "[table]\nlabel = 1", "label = ", "\x00"])
def test_a_config_file_that_is_wrong(tmp_path, line):
    (tmp_path / "run.toml").write_text(line)
    ended = CliRunner().invoke(
        app, ["fit", "t.csv", "--label", "y", "--out", "r", "--config", str(tmp_path / "run.toml")]
    )
    assert ended.exit_code == 2
    assert "run.toml" in ended.output


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--model", "forest"], "model"),
        (["--certify", "never"], "certify"),
        (["--certify", "0.05,colour=1"], "certify: cannot read 'colour=1'"),
        (["--certify", "7"], "certify"),
        (["--safeness", "perfect"], "safeness: 'perfect' is not known"),
        (["--safeness", "measures:beauty"], "safeness"),
        (["--recipe", "n_steps=0"], "n_steps"),
        (["--n-outer", "0"], "n_outer"),
        (["--task", "poetry"], "task"),
        (["--number", "mpg", "--text", "mpg"], "--text mpg"),
        (["--drop", "colour"], "colour"),
        (["--group", "colour"], "colour"),
        (["--checked", "nowhere.parquet"], "nowhere.parquet"),
    ],
)
def test_wrong_settings_are_said_in_one_line_and_nothing_is_written(cars, tmp_path, option, message):
    ended = CliRunner().invoke(app, ["fit", *map(str, fit_cars(cars)), "--out", str(tmp_path / "out"), *option])
    assert ended.exit_code == 2, ended.output
    assert message in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_in_use_or_not_empty_is_left_alone(cars, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for out in (tmp_path / "mine", cars / "run", cars / "train.csv"):
        ended = CliRunner().invoke(app, ["fit", *map(str, fit_cars(cars)), "--out", str(out)])
        assert ended.exit_code == 2
        assert "is not empty" in ended.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("command", ["predict", "labels", "certify", "report", "review", "resume"])
def test_commands_on_what_is_no_run(cars, tmp_path, command):
    more = [str(cars / "fresh.csv")] if command in ("predict", "certify") else []
    for folder, message in ((tmp_path / "nowhere", "no such folder"), (tmp_path, "no run")):
        ended = CliRunner().invoke(app, [command, str(folder), *more])
        assert ended.exit_code == 2, ended.output
        assert message in ended.stderr or "no run" in ended.stderr
        assert len(ended.stderr.strip().splitlines()) == 1


def test_what_a_terminal_would_obey_is_not_printed():
    assert "\x1b" not in printable("\x1b[2J\x07 label")
    assert printable("ß λ 猫\nnext") == "ß λ 猫\nnext"


def test_help_is_there_at_once_and_without_torch():
    script = (
        "import sys, safegain.cli; print(sorted({'torch', 'numpy', 'pandas', 'sklearn', 'pyarrow'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
    assert found.stdout.strip() == "[]"
    seconds = []
    for _ in range(5):
        process = subprocess.Popen(start("--help"), stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        _, status, used = os.wait4(process.pid, 0)
        assert status == 0
        seconds.append(used.ru_utime + used.ru_stime)  # other processes have no part in it
    assert min(seconds) < 0.3


def test_a_list_of_labels_needs_no_torch():
    script = "import sys, safegain.cli.use, safegain.report, safegain.review; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT)
    assert found.stdout.strip() == "False", found.stderr


def test_version():
    assert re.fullmatch(r"safegain \d+\.\d+\.\d+\s*", CliRunner().invoke(app, ["--version"]).output)


# Round and round


def test_from_a_review_to_the_next_run(cars, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(cars / "run", run)
    server = subprocess.Popen(
        start("review", run, "--no-browser"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    try:
        url, _, token = server.stdout.readline().strip().partition("/#")
        assert url.startswith("http://127.0.0.1:")
        page = httpx.Client(base_url=url, headers={"X-Safegain-Token": token}, trust_env=False)
        rows = page.get("/api/rows", params={"limit": 5}).json()["rows"]
        for row in rows:
            decision = {"row": row["row"], "verdict": "accept", "version": 0, "who": "me"}
            assert page.post("/api/decide", json=decision).status_code == 200
        told = page.post("/api/finish").json()
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(20) == 0
    checked = pd.read_parquet(run / "trusted.parquet")
    assert checked["_row"].tolist() == sorted(row["row"] for row in rows)
    assert set(checked["_file"]) == {digest_of(cars / "train.csv")}
    command = shlex.split(told["command"])
    assert command[0] == "safegain"
    here(*command[1:])
    labels = pd.read_parquet(tmp_path / "run-2" / "labels-1-of-1.parquet")
    assert labels["trusted"].sum() == 120 + len(rows)
    by_row = checked.set_index("_row")["region"]
    assert labels["given"][by_row.index].tolist() == by_row.tolist()


def test_two_processes_share_a_table_of_numbers(tmp_path):
    X, y, trusted = digits()
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)]).assign(digit=y, checked=trusted)
    (tmp_path / "table").mkdir()
    frame.iloc[:700].to_parquet(tmp_path / "table" / "a.parquet", row_group_size=300)
    frame.iloc[700:].to_parquet(tmp_path / "table" / "b.parquet")
    search = ["--model", "softmax", "--search-space", "free", "--reference", "raw", "--n-outer", 3, "--tol", 1e-12]
    options = [tmp_path / "table", "--label", "digit", "--trusted", "checked", *search]
    assert here("fit", *options, "--out", tmp_path / "1").count("labels are more likely wrong") == 1
    out = done("fit", *options, "--out", tmp_path / "2", processes=2)
    assert out.count("labels are more likely wrong") == 1
    alone, shared_one = (open_run(tmp_path / name) for name in ("1", "2"))
    assert len(list((tmp_path / "2").glob("labels-*-of-2.parquet"))) == 2
    np.testing.assert_allclose(shared_one.labels["weight"], alone.labels["weight"], rtol=1e-5, atol=1e-7)
    assert (shared_one.labels["corrected"] == alone.labels["corrected"]).all()
    assert (tmp_path / "2" / "report.html").exists()
    assert (load(tmp_path / "2").predict(X) == load(tmp_path / "1").predict(frame)).mean() > 0.99


# What others may have left in a folder


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


def test_links_that_lie_in_wait_are_not_followed(cars, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(cars / "run", run)
    (tmp_path / "precious").write_text("mine")
    for name in ("report.html.part", ".report.html.part", "report.html"):
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(tmp_path / "precious")
    done("report", run)
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (run / "report.html").is_symlink()


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


def fitted_here(cars, out, *options):
    """`safegain fit` on the cars without a process of its own."""
    return CliRunner().invoke(app, ["fit", *map(str, fit_cars(cars)), *options, "--out", str(out)])


def test_what_was_learned_is_kept_until_it_is_written_down(cars, tmp_path, monkeypatch):
    def full(*_, **__):
        raise RunError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("safegain.jobs.fitting.write_run", full)
        assert fitted_here(cars, tmp_path / "out").exit_code == 2
    assert (tmp_path / "out" / "checkpoint" / "stage-last-refit.safetensors").exists()
    with monkeypatch.context() as patch:
        patch.setattr("safegain.learners.recipe.train", full)  # nothing is left to be trained
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
    assert (tmp_path / "out" / "checkpoint" / "stage-last-refit.safetensors").exists()


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

    monkeypatch.setattr("safegain.jobs.fitting.choose_examples", changed)
    ended = fitted_here(tmp_path, tmp_path / "out")
    assert ended.exit_code == 0, ended.output
    assert "was changed while the fit went on" in ended.stderr
    run = open_run(tmp_path / "out")
    assert run.examples is None
    assert "was changed" in run.facts["notes"][-1]
    assert (run.labels["weight"] == open_run(cars / "run").labels["weight"]).all()
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--safeness", "per-group"], "needs the group of every row"),
        (["--certify", "0.05,size=abc"], "size must be a number of rows"),
        (["--certify", "0.05,per_class=maybe"], "per_class must be true or false"),
        (["--certify", '0.05,measures=["error","brie"]'], "'brie'"),
        (["--recipe", "n_steps=1.5"], "n_steps must be a whole number"),
    ],
)
def test_settings_that_cannot_be_are_said_before_anything_is_learned(cars, tmp_path, options, words):
    ended = fitted_here(cars, tmp_path / "out", *options)
    assert ended.exit_code == 2
    assert words in ended.stderr
    assert not (tmp_path / "out").exists()


def test_no_certificate_without_trusted_rows(cars, tmp_path):
    command = ["fit", cars / "train.csv", "--label", "region", "--certify", "0.05", "--out", tmp_path / "out"]
    ended = CliRunner().invoke(app, list(map(str, command)))
    assert ended.exit_code == 2
    assert "--trusted" in ended.stderr
    assert not (tmp_path / "out").exists()


def test_one_certificate_at_a_time(cars):
    with locked(cars / "run"):
        ended = CliRunner().invoke(app, ["certify", str(cars / "run"), str(cars / "fresh.csv")])
    assert ended.exit_code == 2
    assert "another fit or certificate is at work" in ended.stderr
    assert not (cars / "run" / "certificate-1.json").exists()


def test_processes_agree_that_a_table_is_wrong(tmp_path):
    pd.DataFrame({"x": range(9), "y": range(9), "ok": [0, 1, 0, 1, 0, 1, 0, 1, 7]}).to_csv(tmp_path / "t.csv")

    def said(ranks):
        with pytest.raises(ValueError, match="holds 7; it must be true or false") as caught:
            read_together(Source(str(tmp_path / "t.csv"), "y", "ok"), ranks)
        return str(caught.value)

    assert len(set(in_threads(2, said))) == 1


def test_numbers_in_the_terminal_are_told_apart(tmp_path):
    run = make_run(tmp_path / "run", task="numbers")
    labels = pd.read_parquet(run / "labels-1-of-1.parquet")
    most = labels[~labels["trusted"]].nlargest(2, "suspicion").index
    labels.loc[most, "given"] = [1234567.0, 1234568.0]
    labels.to_parquet(run / "labels-1-of-1.parquet", index=False)
    told = here("labels", run)
    assert "1234567" in told
    assert "1234568" in told


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"verdict": None, "rows": None, "n_suspicious": 3}, "3 doubtful labels are"),
        ({"verdict": {"outcome": "safe"}, "rows": {"weak": 2000}, "n_suspicious": 1500}, "1,500 of 2,000 doubtful"),
        ({"verdict": {"outcome": "fell back", "reference": "raw"}, "rows": None, "n_suspicious": 15}, "15 doubtful"),
        ({"verdict": {"outcome": "fell back", "reference": "raw"}, "rows": None, "n_suspicious": 0}, "as they are"),
        ({"verdict": {"outcome": "fell back", "reference": "trusted"}, "rows": None, "n_suspicious": 0}, "not used"),
    ],
)
def test_what_is_said_of_labels_is_so(facts, words):
    assert words in judged(facts)
