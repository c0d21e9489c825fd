import json
import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from safegain import load
from safegain.cli import app
from safegain.runs.lock import locked
from tests.command import here
from tests.run_folders import make_run


def test_predictions_are_those_of_python(cars, tmp_path):
    here("predict", cars / "run", cars / "fresh.csv", "--out", tmp_path / "p.csv", "--id", "car")
    found = pd.read_csv(tmp_path / "p.csv")
    frame = pd.read_csv(cars / "fresh.csv")
    model = load(cars / "run")
    assert found["prediction"].tolist() == model.predict(frame).tolist()
    assert found["id"].tolist() == frame["car"].tolist()
    np.testing.assert_allclose(found["p(usa)"], model.predict_proba(frame)[:, 2], atol=1e-12)
    assert here("predict", cars / "run", cars / "fresh.csv").startswith('"row","prediction","p(europe)"')


def test_labels_as_table_csv_parquet_and_label_studio(cars, tmp_path):
    assert "suggested" in here("labels", cars / "run", "--top", 3)
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
    assert len(json.loads(here("labels", cars / "run", "--json"))) == len(table)


def test_a_label_studio_export_comes_back_as_checked_rows(cars, tmp_path):
    here("labels", cars / "run", "--out", tmp_path / "tasks.json", "--top", 5)
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    for task in tasks:
        task["annotations"] = [{"result": task.pop("predictions")[0]["result"]}]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    from safegain.review import import_decisions
    from safegain.tables.label_studio import from_export

    assert import_decisions(cars / "run", from_export(tmp_path / "export.json")) == len(tasks)
    (cars / "run" / "review.sqlite").unlink()


def test_certify_on_fresh_rows_and_never_on_used_ones(cars, tmp_path):
    shutil.copytree(cars, tmp_path / "cars")
    cars = tmp_path / "cars"
    ended = CliRunner().invoke(app, ["certify", str(cars / "run"), str(cars / "fresh.csv"), "--json"])
    facts = json.loads(ended.stdout)
    assert ended.exit_code == int(not facts["certified"])
    assert json.loads((cars / "run" / "certificate-1.json").read_text())["p_value"] == facts["p_value"]
    assert "Later certificates" in (cars / "run" / "report.html").read_text()
    for file, words in (("trusted.csv", "were in the fit"), ("fresh.csv", "were tested before")):
        again = CliRunner().invoke(app, ["certify", str(cars / "run"), str(cars / file)])
        assert again.exit_code == 2
        assert f"{file}: " in again.stderr
        assert f"(line 2 first) {words}; a certificate needs fresh ones" in again.stderr
    allowed = ["certify", str(cars / "run"), str(cars / "fresh.csv"), "--allow", "other cars", "--json"]
    said = json.loads(CliRunner().invoke(app, allowed).stdout)["sentence"]
    assert 'Whether the rows are fresh was not asked, because: "other cars".' in said
    assert "This is test 2 of its ledger, at level" in said


def test_one_certificate_at_a_time(cars):
    with locked(cars / "run"):
        ended = CliRunner().invoke(app, ["certify", str(cars / "run"), str(cars / "fresh.csv")])
    assert ended.exit_code == 2
    assert "another fit or certificate is at work" in ended.stderr
    assert not (cars / "run" / "certificate-1.json").exists()


def test_numbers_in_the_terminal_are_told_apart(tmp_path):
    run = make_run(tmp_path / "run", task="numbers")
    labels = pd.read_parquet(run / "labels-1-of-1.parquet")
    most = labels[~labels["trusted"]].nlargest(2, "suspicion").index
    labels.loc[most, "given"] = [1234567.0, 1234568.0]
    labels.to_parquet(run / "labels-1-of-1.parquet", index=False)
    told = here("labels", run)
    assert "1234567" in told
    assert "1234568" in told


@pytest.fixture
def certified(cars, tmp_path):
    """What `certify` says on the cars' fresh rows: each time a run of its own, for a row is tested but once."""

    def certify(*options):
        run = tmp_path / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(cars / "run", run)
        ended = CliRunner().invoke(app, ["certify", str(run), str(cars / "fresh.csv"), *options, "--json"])
        facts = json.loads(ended.stdout)
        assert ended.exit_code == (2 if "error" in facts else int(not facts["certified"])), ended.output
        return facts

    return certify


def test_a_certificate_for_each_measure(certified):
    facts = certified("--measure", "error", "--measure", "brier", "--delta", "0.2")
    assert [(entry["name"], entry["measure"]) for entry in facts["entries"]] == [
        ("all rows", "error"),
        ("all rows", "brier"),
    ]
    assert {entry["delta"] for entry in facts["entries"]} == {0.16}


def test_a_certificate_for_each_class_and_each_group(certified, cars):
    fresh = pd.read_csv(cars / "fresh.csv")
    facts = certified("--per-class", "--group", "cylinders")
    found = {entry["name"]: entry["n"] for entry in facts["entries"]}
    assert found["all rows"] == len(fresh)
    expected = {"class": fresh["region"].value_counts(), "group": fresh["cylinders"].value_counts()}
    for kind, counts in expected.items():
        assert len(counts) > 2
        told = {name: n for name, n in found.items() if name.startswith(kind)}
        assert sorted(told.values()) == sorted(counts)
        assert all(any(str(value) in name for name in told) for value in counts.index)


def test_a_tolerance_makes_a_certificate_easier(certified):
    strict, lenient = certified(), certified("--tolerance", "0.2")
    assert lenient["p_value"] < strict["p_value"]
    assert lenient["entries"][0]["tolerance"] == 0.2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delta", "0"], "delta must be a number between 0 and 1"),
        (["--tolerance", "-1"], "tolerance must be a number of at least 0"),
        (["--measure", "beauty"], "got 'beauty'"),
        (["--clip", "0"], "clip must be a positive number"),
        (["--clip", "3"], "clip: is for squared_error and absolute_error"),
        (["--group", "colour"], "'colour'"),
    ],
)
def test_a_certificate_that_cannot_be_is_refused(certified, options, words):
    assert words in certified(*options)["error"]


def test_the_largest_error_of_numbers_that_counts_is_said_or_comes_from_the_fit(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(400, 3)), columns=["a", "b", "c"]).round(6)
    frame["y"] = (10 * frame["a"] + random.normal(size=400)).round(6)
    frame["right"] = np.arange(400) % 3 == 0
    frame.loc[~frame["right"] & (frame["b"] > 0.5), "y"] += 30
    frame[:300].to_csv(tmp_path / "t.csv", index=False)
    frame[300:].query("right").to_csv(tmp_path / "fresh.csv", index=False)
    run = tmp_path / "run"
    here("fit", tmp_path / "t.csv", "--label", "y", "--trusted", "right", "--out", run)
    certify = ["certify", run, tmp_path / "fresh.csv", "--allow", "the same rows, other measures", "--json"]

    def entries(*options):
        return json.loads(CliRunner().invoke(app, list(map(str, [*certify, *options]))).stdout)["entries"]

    trusted = frame[:300].query("right")["y"]
    (usual,) = entries()
    assert usual["measure"] == "squared_error"
    assert usual["bound"] == pytest.approx((trusted.max() - trusted.min()) ** 2)
    (clipped,) = entries("--clip", 5)
    assert clipped["bound"] == 25
    (absolute,) = entries("--measure", "absolute_error", "--clip", 5)
    assert (absolute["measure"], absolute["bound"]) == ("absolute_error", 5)
    refused = CliRunner().invoke(app, list(map(str, [*certify, "--per-class"])))
    assert refused.exit_code == 2
    assert "per_class: is about classes" in refused.stderr
