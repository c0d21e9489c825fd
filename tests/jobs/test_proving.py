"""A test by disagreements of a real run, from a file of fresh rows to a certificate that is verified."""

import json
import shutil
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from safegain import Claims, certify_stream
from safegain.cli import app
from safegain.jobs.proving import begin_proof
from safegain.jobs.ready import Ready, with_columns
from safegain.jobs.verifying import verify_proofs
from safegain.runs.folder import RunError, open_run
from safegain.runs.loading import load
from safegain.runs.proof import opened_proof
from safegain.tables import BadFile
from tests.command import here
from tests.quick import quick_evidence

CLAIMS = Claims(0.05)
COLUMNS = [f"x{j}" for j in range(10)]


def frame(n, seed):
    """Two classes that need ten columns, and a town that says nothing."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10)).round(5)
    label = np.where(X.sum(axis=1) + random.normal(size=n) > 0, "yes", "no")
    return pd.DataFrame(X, columns=COLUMNS).assign(town=random.choice(["ulm", "bonn"], n), label=label)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A run whose reference has learned "yes" too often, and a pool whose labels nobody looks at."""
    folder = tmp_path_factory.mktemp("proving")
    train, pool = frame(800, 0), frame(900, 1)
    train["trusted"] = np.arange(800) < 60
    wrong = ~train["trusted"] & (np.random.default_rng(2).random(800) < 0.5)
    train.loc[wrong, "label"] = "yes"  # half of those that should be "no"
    train.to_csv(folder / "train.csv", index=False)
    pool.to_csv(folder / "labelled.csv", index=False)
    pool.drop(columns="label").to_csv(folder / "pool.csv", index=False)
    options = ["--label", "label", "--trusted", "trusted", "--drop", "town", "--model", "linear"]
    with quick_evidence():
        here("fit", folder / "train.csv", *options, "--reference", "raw", "--out", folder / "run")
    return folder


@pytest.fixture
def run(fitted, tmp_path):
    shutil.copytree(fitted / "run", tmp_path / "run")
    return tmp_path / "run"


def label_all(run, fitted, most=10**6):
    """As somebody would who knows the labels."""
    right, proof = pd.read_csv(fitted / "labelled.csv")["label"], opened_proof(open_run(run))
    while not proof.over and len(proof.stream.labels) < most:
        place = len(proof.stream.labels)
        proof.add(place, right[proof.file.shown["row"][place]], "tab")
    proof.write_down(lambda: None)
    proof.close()
    return proof


def test_it_is_the_test_that_python_makes(run, fitted):
    assert begin_proof(run, fitted / "pool.csv", CLAIMS)
    stored, columns = with_columns(run)
    assert columns == dict.fromkeys(COLUMNS, "number")
    model = load(run)
    X = model["encoder"].transform(pd.read_csv(fitted / "pool.csv"))
    model = Ready.of(stored, fitted / "pool.csv")
    estimator, again = model.estimator, model.rows(_table(fitted / "pool.csv", columns))
    np.testing.assert_array_equal(X, again)
    stream = certify_stream(estimator.model_, estimator.reference_model_, X, Claims(0.04))
    right = pd.read_csv(fitted / "labelled.csv")["label"]
    proof = label_all(run, fitted)
    for _ in proof.stream.labels:
        stream.answer(right[stream.next_row])
    assert proof.file.arrays.order.tolist() == stream.order.tolist()
    ours, theirs = proof.certificate.entries, stream.certificate.entries
    assert [(each.won, each.lost, each.p_value) for each in ours] == [(e.won, e.lost, e.p_value) for e in theirs]
    (verified,) = verify_proofs(run)
    assert verified.problems == []
    assert verified.sentence == proof.certificate.sentence
    assert load(run)["model"].ledger_.outcomes == [proof.stream.certified]


def _table(path, columns):
    from safegain.tables import read_rows

    return read_rows(path, columns).table


def test_the_same_pool_goes_on_and_another_is_a_new_test(run, fitted, tmp_path):
    assert begin_proof(run, fitted / "pool.csv", CLAIMS)
    label_all(run, fitted, most=2)
    assert begin_proof(run, fitted / "pool.csv", CLAIMS) == (1, False)
    assert len(opened_proof(open_run(run)).stream.labels) == 2
    with pytest.raises(RunError, match=r"has begun the test of these rows with other options, as proof-1\.json tells"):
        begin_proof(run, fitted / "pool.csv", Claims(0.1))
    with pytest.raises(ValueError, match="measures: where two models say the same"):
        begin_proof(run, fitted / "pool.csv", Claims(measures="brier"))
    pd.read_csv(fitted / "pool.csv")[1:].to_csv(tmp_path / "part.csv", index=False)
    with pytest.raises(BadFile, match=r"part\.csv: .* were tested before; a certificate needs fresh ones.*--allow"):
        begin_proof(run, tmp_path / "part.csv", CLAIMS)
    frame(300, 5).to_csv(tmp_path / "other.csv", index=False)  # with labels, which are not looked at
    assert begin_proof(run, tmp_path / "other.csv", CLAIMS, group="town") == (2, True)
    assert begin_proof(run, fitted / "pool.csv", CLAIMS) == (1, False)  # the first one goes on
    with closing(opened_proof(open_run(run), 1)) as first:
        assert len(first.stream.labels) == 2
    proof = opened_proof(open_run(run))
    assert (proof.file.number, proof.file.facts.test, proof.file.facts.level) == (2, 1, pytest.approx(0.008))
    assert proof.file.facts.groups == ["bonn", "ulm"]
    assert "label" not in json.loads(proof.file.shown["values"][0])
    nothing = ["there is no such file, only 0 labels; safegain review writes it down"]
    assert [each.problems for each in verify_proofs(run)] == [[], nothing]


def test_tests_that_go_on_side_by_side_are_verified(run, fitted, tmp_path):
    """What the second one was told of the level was true then."""
    frame(400, 5).to_csv(tmp_path / "other.csv", index=False)
    begin_proof(run, fitted / "pool.csv", CLAIMS)
    begin_proof(run, tmp_path / "other.csv", CLAIMS)
    with closing(opened_proof(open_run(run), 1)) as first:
        while not first.over:
            first.add(len(first.stream.labels), first.stream.said_new[len(first.stream.labels)], "tab")
        first.write_down(lambda: None)
    with closing(opened_proof(open_run(run), 2)) as second:
        second.add(0, second.stream.said_old[0], "tab")
        second.write_down(lambda: None)
    assert [trial.certified for trial in load(run)["model"].ledger_.trials] == [True, False]
    assert [each.problems for each in verify_proofs(run)] == [[], []]


def test_rows_of_the_fit_are_refused_unless_somebody_says_why(run, fitted):
    with pytest.raises(BadFile, match=r"train\.csv: .*line 2 first.* were in the fit"):
        begin_proof(run, fitted / "train.csv", CLAIMS)
    assert begin_proof(run, fitted / "train.csv", CLAIMS, allow="they are others")
    proof = opened_proof(open_run(run))
    assert 'because: "they are others"' in proof.certificate.sentence
    label_all(run, fitted, most=1)
    assert verify_proofs(run)[0].problems == []
    _change_json(run / "proof-1.json", remarks=[])
    assert verify_proofs(run)[0].problems == [
        "its remarks are not what the ledger leads to",
        "its sentence is not what the stored labels lead to",
    ]


def test_models_that_agree_leave_nothing_to_label(run, fitted, tmp_path):
    pd.DataFrame([[3.0] * 10, [-3.0] * 10], columns=COLUMNS).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(BadFile, match="say the same of all 2 rows"):
        begin_proof(run, tmp_path / "few.csv", CLAIMS)
    assert opened_proof(open_run(run)) is None
    assert load(run)["model"].ledger_.outcomes == []  # nothing was spent
    with pytest.raises(RunError, match="has no test by disagreements; begin one with"):
        verify_proofs(run)


def _change_arrays(run, name, change):
    path = run / "proof-1.safetensors"
    found = load_file(path)
    save_file({**found, name: np.ascontiguousarray(change(found[name]))}, path)


def _change_json(path, **values):
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda run: _change_arrays(run, "rows", lambda a: a + 1), "the stored rows are not those of the pool"),
        (lambda run: _change_arrays(run, "new", lambda a: 1 - a), "something else of its rows"),
        (lambda run: _change_json(run / "proof-1.json", level=0.05), "its level is not that of the ledger"),
        (lambda run: _change_json(run / "certificate-1.json", p_value=1e-9), "its p_value is not what the stored"),
        (lambda run: _change_json(run / "certificate-1.json", sentence="Certified."), "its sentence is not what"),
    ],
)
def test_what_was_changed_later_is_told(run, fitted, change, problem):
    begin_proof(run, fitted / "pool.csv", CLAIMS)
    label_all(run, fitted, most=3)
    change(run)
    if problem.startswith("something"):
        _change_arrays(run, "old", lambda a: 1 - a)
    (found,) = verify_proofs(run)
    assert any(problem in each for each in found.problems), found.problems


def test_labels_may_follow_a_result_that_was_saved(run, fitted):
    begin_proof(run, fitted / "pool.csv", CLAIMS)
    label_all(run, fitted, most=2)
    with closing(opened_proof(open_run(run))) as proof:
        proof.add(2, proof.stream.said_old[2], "tab")
    (found,) = verify_proofs(run)
    assert found.problems == []
    assert found.sentence == json.loads((run / "certificate-1.json").read_text())["sentence"]
    with closing(opened_proof(open_run(run))) as proof:
        assert found.sentence != proof.certificate.sentence


def test_rows_that_were_said_to_be_copies_are_told(run, fitted):
    """Without them a claim could be met that is not."""
    begin_proof(run, fitted / "pool.csv", CLAIMS)
    label_all(run, fitted, most=2)
    _change_arrays(run, "once", lambda a: a & (np.arange(len(a)) > 10))
    assert "other rows repeat others" in verify_proofs(run)[0].problems


def test_another_order_is_told(run, fitted):
    begin_proof(run, fitted / "pool.csv", CLAIMS)
    for name in ("order", "rows", "new", "old"):
        _change_arrays(run, name, lambda a: a[::-1])
    shown = pd.read_parquet(run / "proof-1.parquet")
    shown.iloc[::-1].to_parquet(run / "proof-1.parquet", index=False)
    assert "its rows are not in the order that was drawn" in verify_proofs(run)[0].problems


def test_ids_decide_where_both_files_have_them(fitted, tmp_path):
    train = pd.read_csv(fitted / "train.csv").assign(name=[f"row {i}" for i in range(800)])
    train.to_csv(tmp_path / "train.csv", index=False)
    options = ["--label", "label", "--trusted", "trusted", "--drop", "town", "--model", "linear", "--id", "name"]
    with quick_evidence():
        here("fit", tmp_path / "train.csv", *options, "--reference", "raw", "--out", tmp_path / "run")
    others = train.assign(name=[f"another {i}" for i in range(800)])
    others.to_csv(tmp_path / "others.csv", index=False)
    assert begin_proof(tmp_path / "run", tmp_path / "others.csv", CLAIMS, id="name")  # they only look the same
    others.assign(name=[*others["name"][:-1], "row 5"]).to_csv(tmp_path / "one.csv", index=False)
    with pytest.raises(BadFile, match=r"one\.csv: 1 rows \(line 801 first\) were in the fit"):
        begin_proof(tmp_path / "run", tmp_path / "one.csv", CLAIMS, id="name")
    fresh = frame(300, 9).assign(name=[f"another {i + 799}" for i in range(300)])
    fresh.to_csv(tmp_path / "fresh.csv", index=False)
    with pytest.raises(BadFile, match=r"fresh\.csv: 1 rows \(line 2 first\) were tested before"):
        begin_proof(tmp_path / "run", tmp_path / "fresh.csv", CLAIMS, id="name")
    ended = CliRunner().invoke(app, ["certify", str(tmp_path / "run"), str(tmp_path / "fresh.csv"), "--id", "name"])
    assert ended.exit_code == 2
    assert "were tested before" in ended.stderr
    (fresh.drop(index=0)).to_csv(tmp_path / "fresh.csv", index=False)
    ended = CliRunner().invoke(app, ["certify", str(tmp_path / "run"), str(tmp_path / "fresh.csv"), "--id", "name"])
    assert ended.exit_code in (0, 1)
    (found,) = verify_proofs(tmp_path / "run")
    assert [each[:21] for each in found.problems] == ["there is no such file"]
