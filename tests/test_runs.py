import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from safegain import (
    AllOf,
    Bootstrap,
    Certify,
    ConjugateGradient,
    MultiMeasure,
    Neumann,
    PerClass,
    PerGroup,
    PerView,
    PGSClassifier,
    PGSRegressor,
    Recipe,
    Unrolled,
)
from safegain.bilevel.selection import SafenessReport
from safegain.certificates.bounded_losses import BoundedLoss
from safegain.certificates.certificate import Certificate
from safegain.cli.talk import Talk
from safegain.cli.use import run_predict
from safegain.data.rows import ArrayRows
from safegain.encoding import TableEncoder
from safegain.estimators.issues import suspicions
from safegain.jobs.shown import choose_examples, example_frame, nearest_trusted
from safegain.report import report_html
from safegain.runs import RunError, effect, facts, open_run
from safegain.runs.digest import digests, refused, repeated
from safegain.runs.doubt import suspicion_of_numbers
from safegain.runs.folder import DOUBTFUL
from safegain.runs.label_table import GROUP_ROWS
from safegain.runs.loading import load
from safegain.runs.objects import from_json, parameters_to_json, to_json
from safegain.runs.saving import facts_of_rows, write_run
from tests.run_folders import make_run
from tests.thread_ranks import in_threads

SMALL = Recipe(n_hidden=8, n_steps=20, n_looks=2)
FREE = {"search_space": "free", "n_outer": 2, "n_inner": 20}


def rows(n=200, d=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    wrong = random.random(n) < 0.3
    return X, (X[:, 0] + 0.3 * random.normal(size=n) > 0).astype(int), wrong, np.arange(n) >= n - n // 2


def fitted(kind="softmax", names=(0, 1), X=None, missing=(), **parameters):
    own, y, wrong, trusted = rows()
    labels = np.array(names)[np.where(wrong & ~trusted, 1 - y, y)]
    if len(missing):
        labels = labels.astype(type(missing[0]) if missing[0] is not None else object)
        labels[: len(missing)] = missing
    X = own if X is None else X(own)
    parameters = {"reference": "raw", "random_state": 0, **parameters}
    return PGSClassifier(kind, **parameters).fit(X, labels, trusted=trusted), X


def fitted_numbers(kind="ridge", X=None, missing=0, **parameters):
    own, _, wrong, trusted = rows()
    y = 100 + 20 * own[:, 1] + 5 * np.sin(9 * own[:, 3]) + np.where(wrong & ~trusted, 80.0, 0.0)
    y[:missing] = np.nan
    X = own if X is None else X(own)
    parameters = {"reference": "raw", "random_state": 0, **parameters}
    return PGSRegressor(kind, **parameters).fit(X, y, trusted=trusted), X


def frame(X):
    return pd.DataFrame(X, columns=["age", "income", "a=b", "ü"])


FITS = {
    "words, frame, certificate": lambda: fitted(names=("no", "yes, maybe"), X=frame, certify=0.45),
    "recipe": lambda: fitted("mlp", recipe=SMALL),
    "network by a solver, float32": lambda: fitted("mlp", solver="gd", n_inner=20, X=lambda X: X.astype("f4")),
    "sparse": lambda: fitted(X=scipy.sparse.csr_array, scaling="none"),
    "bools": lambda: fitted(names=(False, True)),
    "floats with NaN": lambda: fitted(names=(0.0, 2.0), missing=(np.nan, np.nan)),
    "float classes": lambda: fitted(names=(0.0, 2.0)),
    "objects with None": lambda: fitted(names=np.array(["a", "b"], object), missing=(None, None)),
    "numbers with None": lambda: fitted(names=(3, 7), missing=(None,)),
    "whole numbers with -1": lambda: fitted(names=(3, 7), missing=(-1, -1)),
    "-1 and 1": lambda: fitted(names=(-1, 1)),
    "free": lambda: fitted(safeness=Bootstrap(2) + PerClass(), **FREE),
    "structured": lambda: fitted(search_space="structured", n_outer=2),
    "neumann": lambda: fitted(engine=Neumann(terms=3), **FREE),
    "fall back": lambda: fitted(selection_fraction=0.01, reference="best"),
    "not certified": lambda: fitted(certify=Certify(1e-6, 30)),
    "ridge": lambda: fitted_numbers(certify=Certify(0.2, tolerance=0.1)),
    "ridge with gaps": lambda: fitted_numbers(missing=5),
    "ridge, free, workspace": lambda: fitted_numbers(workspace=tempfile.gettempdir(), **FREE),
    "sparse ridge": lambda: fitted_numbers(X=scipy.sparse.csr_array),
    "network of numbers": lambda: fitted_numbers("mlp", X=frame, n_inner=20, n_hidden=5),
}


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """(estimator, X, folder) by name of a fit, each made once."""
    made = {}

    def get(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("run") / "run"
            if name == "table":
                estimator, X = saved_with_its_table(folder)
            else:
                estimator, X = FITS[name]()
                estimator.save(folder, X)
            made[name] = estimator, X, folder
        return made[name]

    return get


KINDS = {"age": "number", "town": "category", "words": "text", "vector": "array", "face": "image"}


def saved_with_its_table(folder):
    """A run over a table with a column of every kind; the estimator, and the table."""
    own, y, wrong, trusted = rows()
    table = {
        "age": np.where(np.arange(200) % 9, own[:, 0], np.nan),
        "town": np.array(["Ulm", "Bonn"])[(own[:, 2] > 0).astype(int)],
        "words": [f"row number {i % 7}" for i in range(200)],
        "vector": own[:, :3],
        "face": np.random.default_rng(0).integers(0, 256, (200, 4, 4), dtype=np.uint8),
    }
    encoder = TableEncoder(KINDS).fit(table)
    X = encoder.transform(table)
    estimator = PGSClassifier("softmax", random_state=0).fit(X, np.where(wrong & ~trusted, 1 - y, y), trusted=trusted)
    told = {"label": "y", "columns": KINDS}
    write_run(folder, estimator, rows=facts_of_rows(estimator, X), encoder=encoder, problem_facts=told)
    return estimator, table


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes() if a.dtype != object else a.tolist() == b.tolist()
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_exact=True)
    else:
        assert a == b


@pytest.mark.parametrize("name", FITS)
def test_what_is_loaded_has_the_bits_of_what_was_saved(saved, name):
    estimator, X, folder = saved(name)
    loaded = load(folder)
    same(loaded.predict(X), estimator.predict(X))
    same(loaded.label_issues(), estimator.label_issues())
    same(loaded.get_params(), estimator.get_params())
    fresh = slice(0, 60)
    y = estimator.predict(X)
    certificates = [each.certify(X[fresh], y[fresh]) for each in (loaded, estimator)]
    assert certificates[0] == certificates[1]
    assert str(loaded.safeness_) == str(estimator.safeness_)
    known = {key for key in vars(estimator) if key.endswith("_")}
    assert known == {key for key in vars(loaded) if key.endswith("_")}
    for key in known - {"model_", "raw_model_", "reference_model_", "references_"}:
        same(getattr(loaded, key), getattr(estimator, key))
    for key in ("model_", "raw_model_", "reference_model_"):
        same(getattr(loaded, key).outputs(X).numpy(), getattr(estimator, key).outputs(X).numpy())
    assert loaded.references_.keys() == estimator.references_.keys()
    assert (loaded.model_ is loaded.reference_model_) == (estimator.model_ is estimator.reference_model_)
    if isinstance(estimator, PGSClassifier):
        same(loaded.predict_proba(X), estimator.predict_proba(X))
    clone(loaded)


def test_what_is_loaded_is_saved_again_as_it_was(saved, tmp_path):
    _, X, folder = saved("words, frame, certificate")
    load(folder).save(tmp_path / "again", X)
    for name in ("labels-1-of-1.parquet", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_most_of_these_fits_hand_a_new_model_back_and_some_fall_back(saved):
    assert {name for name in FITS if saved(name)[0].safeness_.fell_back} == {"fall back", "not certified"}


def test_parameters_are_stored_by_a_list_of_types():
    objects = [
        AllOf((Bootstrap(4), PerClass(["a", 3]), PerGroup(), MultiMeasure("log_loss", "brier"))),
        PerView({"text": [0, 1], "$odd": ("a", "b")}),
        ConjugateGradient(tol=1e-9),
        Unrolled(last=4),
        Recipe(dropout=0.25),
        Certify(0.1, tolerance={"error": 0.1}, measures=("error", "brier"), priors={0: 0.5, 1: 0.5}),
        np.float32(0.1),
        Path("some/where"),
        {"loss": float("inf"), "steps": [1, 2.5, None, True]},
    ]
    for each in objects:
        read = from_json(json.loads(json.dumps(to_json(each), allow_nan=False)))
        assert read == (each.item() if isinstance(each, np.generic) else each)
        assert isinstance(each, np.generic) or type(read) is type(each)


def test_what_cannot_be_stored_is_null_and_has_its_default_after_loading(tmp_path):
    estimator, X = fitted(callbacks=[print])
    estimator.set_params(
        random_state=np.random.RandomState(0), certify=Certify(measures=BoundedLoss("mine", lambda y, said: y, 1.0))
    )
    assert parameters_to_json(estimator.get_params())[1] == ["callbacks", "certify", "random_state"]
    estimator.save(tmp_path)
    loaded = load(tmp_path)
    assert [loaded.get_params()[name] for name in ("callbacks", "certify", "random_state")] == [None] * 3
    same(loaded.predict(X), estimator.predict(X))


def test_a_name_in_the_file_imports_nothing():
    for name in ("os.system", "PGSClassifier", "Path", "__import__"):
        with pytest.raises(KeyError):
            from_json({"$is": name, "with": {}})


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.ReLU(), torch.nn.Linear(5, 2))


def test_a_module_of_the_users_lends_its_code_and_takes_its_numbers_from_the_folder(tmp_path):
    own = network()
    own[1].running_mean += 0.5
    estimator, X = fitted(own, n_inner=10, search_space="free", n_outer=1)
    estimator.save(tmp_path, X)
    with pytest.raises(RunError, match=r"Module of your own \(Sequential\).*load\(folder, module="):
        load(tmp_path)
    with pytest.raises(RunError, match="give one with the layers"):
        load(tmp_path, module=torch.nn.Linear(4, 2))
    given = network()
    loaded = load(tmp_path, module=given)
    same(loaded.predict_proba(X), estimator.predict_proba(X))
    assert loaded.model is given
    assert (given[1].running_mean == 0).all()  # the user's own is left as it was


def test_a_run_over_a_table_is_a_pipeline_that_begins_with_its_encoder(saved, tmp_path):
    estimator, table, folder = saved("table")
    loaded = load(folder)
    assert list(loaded.named_steps) == ["encoder", "model"]
    X = TableEncoder(KINDS).fit_transform(table)
    same(loaded.predict_proba(table), estimator.predict_proba(X))
    few = {name: values[:5] for name, values in table.items()}
    assert refused(open_run(folder), loaded["encoder"].transform(few)) == list(range(5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["encoder"]["blocks"].pop(), "TableEncoder"),
        (lambda f: f["encoder"]["blocks"][0].update(scale="x"), "scale of Number has another type"),
        (lambda f: f["encoder"]["blocks"][0].update(centre=None), "centre of Number has another type"),
        (lambda f: f["encoder"]["blocks"][0].update(gaps=False), "the encoder gives .* and the model takes"),
        (lambda f: f["encoder"]["blocks"][1].update(categories=5), "categories of Category has another type"),
        (lambda f: f["encoder"]["parameters"].update(kinds=5), "encoder.parameters.kinds is no object"),
        (lambda f: f.update(encoder=None), "its encoder does not fit its columns"),
        (lambda f: f["columns"].pop("age"), "its encoder does not fit its columns"),
        (lambda f: f["columns"].update(age="zebra"), r"columns\['age'\] is none of array, category"),
    ],
)
def test_an_encoder_that_is_damaged_predicts_nothing(saved, tmp_path, change, message):
    _, table, folder = saved("table")
    folder = copied(folder, tmp_path)
    found = json.loads((folder / "run.json").read_text())
    change(found)
    (folder / "run.json").write_text(json.dumps(found))
    np.savez(tmp_path / "new.npz", **table)
    with pytest.raises(RunError, match=message):
        run_predict(folder, tmp_path / "new.npz", tmp_path / "out.csv", None, Talk(quiet=True))


def test_a_module_is_not_taken_where_none_is_needed(saved):
    with pytest.raises(RunError, match="leave it out"):
        load(saved("ridge")[2], module=network())


def test_a_folder_that_holds_a_run_is_not_written_to(saved, tmp_path):
    estimator, X, folder = saved("ridge")
    before = (folder / "run.json").read_bytes()
    with pytest.raises(RunError, match="holds a run already; give another folder"):
        estimator.save(folder)
    assert (folder / "run.json").read_bytes() == before
    (tmp_path / "request.json").write_text("{}")
    with pytest.raises(RunError, match="holds a run already"):
        estimator.save(tmp_path)
    with pytest.raises(RunError, match="cannot be written"):
        estimator.save(folder / "run.json" / "below")
    with pytest.raises(ValueError, match="X: has 3 rows and the fit had 200"):
        estimator.save(tmp_path / "new", X[:3])
    assert not (tmp_path / "new").exists()


def test_a_killed_save_is_no_run_and_does_not_stand_in_the_way(saved, tmp_path):
    estimator, X, folder = saved("ridge")
    shutil.copytree(folder, tmp_path / "run")
    (tmp_path / "run" / "run.json").unlink()
    (tmp_path / "run" / "labels-2-of-3.parquet").write_bytes(b"left over")
    with pytest.raises(RunError, match="holds no run"):
        load(tmp_path / "run")
    estimator.save(tmp_path / "run", X)
    same(load(tmp_path / "run").predict(X), estimator.predict(X))


def test_classes_that_no_column_holds_are_refused_with_a_word(tmp_path):
    estimator, _ = fitted(names=np.array(["a\ud800", "b"], object))
    with pytest.raises(RunError, match="classes: a run folder holds"):
        estimator.save(tmp_path)


# --- the labels table


@pytest.mark.parametrize("name", FITS)
def test_issues_of_the_folder_are_those_of_the_estimator(saved, name):
    estimator, X, folder = saved(name)
    run, labels = open_run(folder), estimator._labels
    expected = estimator.label_issues()
    suspicion = suspicions(labels, estimator.trusted_, estimator.sample_weight_, estimator._alternatives())
    if labels.classes is None:  # numbers are doubted by where they lie
        weak, off = labels.labelled & ~estimator.trusted_, np.abs(labels.given - estimator.predict(X))
        name = estimator.reference_ if estimator.model_ is estimator.reference_model_ else "new"
        losses = estimator.comparison_.query("model == @name")["loss"].to_numpy()
        suspicion = np.zeros(len(weak))
        suspicion[weak] = suspicion_of_numbers(losses**0.5, off[weak])
        rows = run.issues["row"].to_numpy()
        np.testing.assert_allclose(run.issues["suggested"].to_numpy(float), estimator.predict(X)[rows], rtol=1e-6)
        assert set(rows) == set(np.flatnonzero(suspicion > DOUBTFUL))
    else:
        expected = expected[suspicion[expected["row"]] > DOUBTFUL]
        for column in expected:
            assert run.issues[column].tolist() == expected[column].tolist()
        assert run.facts["n_suspicious"] == len(expected)
        if len(expected):
            assert type(run.issues["suggested"].tolist()[0]) is type(expected["suggested"].tolist()[0])
    assert run.labels["given"].isna().tolist() == (~labels.labelled).tolist()
    assert run.labels["corrected"].tolist() == estimator.corrected_labels_.tolist()
    assert (run.labels["suspicion"][run.labels["trusted"]] == 0).all()
    np.testing.assert_allclose(run.labels["suspicion"], suspicion, atol=1e-6)


def test_many_rows_are_written_in_row_groups(tmp_path):
    n = GROUP_ROWS + 7
    random = np.random.default_rng(0)
    X, trusted = random.normal(size=(n, 1)), np.arange(n) < 200
    y = np.where(random.random(n) < 0.9, X[:, 0] > 0, X[:, 0] < 0)
    estimator = PGSClassifier("softmax", search_space="free", n_outer=1).fit(X, y, trusted=trusted)
    estimator.save(tmp_path, X)
    assert pq.ParquetFile(tmp_path / "labels-1-of-1.parquet").num_row_groups == 2
    loaded = load(tmp_path)
    for name in ("label_distribution_", "sample_weight_", "corrected_labels_"):
        same(getattr(loaded, name), getattr(estimator, name))
    assert refused(open_run(tmp_path), X[-10:]) == list(range(10))


def test_a_run_without_its_rows_has_no_effects_and_knows_no_rows(saved, tmp_path):
    estimator, X, _ = saved("ridge")
    estimator.save(tmp_path)
    run = open_run(tmp_path)
    assert not {"effect", "disagrees", "digest"} & set(run.labels)
    with pytest.raises(RunError, match=r"saved without its rows.*save\(folder, X\)"):
        refused(run, X)
    same(load(tmp_path).predict(X), estimator.predict(X))


def test_rows_of_the_fit_are_known_again_and_others_are_not(saved):
    _, X, folder = saved("words, frame, certificate")
    fresh = rows(seed=1)[0]
    mixed = np.concatenate([fresh[:5], X.to_numpy()[50:55]])
    for given_rows in (mixed, scipy.sparse.csr_array(mixed), ArrayRows(mixed)):
        assert refused(open_run(folder), given_rows) == [5, 6, 7, 8, 9]


def test_digests_tell_rows_of_small_whole_numbers_apart_and_not_their_storage():
    grid = np.stack(np.meshgrid(*[np.arange(9.0) - 4] * 5), axis=-1).reshape(-1, 5)
    found = digests(grid)
    assert len(np.unique(found)) == len(grid)
    same(digests(grid.astype(np.float32)), found)
    same(digests(scipy.sparse.csr_array(grid)), found)
    same(digests(np.where(grid == 0, -0.0, grid)), found)
    same(digests(grid.reshape(-1, 5, 1)), found)


# --- effect and disagreement


def brute_force_change(estimator, X, row, gradient, rate=1e-4):
    """Slope of the mean trusted loss along a step on this row that takes `gradient` for that of its outputs."""
    model, labels = estimator.model_, estimator._labels
    design = torch.from_numpy(
        np.column_stack([(X - model.inputs.mean.numpy()) / model.inputs.scale.numpy(), X[:, 0] ** 0])
    )
    heard, y = torch.from_numpy(estimator.trusted_ & ~estimator.set_aside_), torch.from_numpy(labels.numbers)

    def outputs(theta):
        return design @ theta.view(model.model.shape) @ model.model.contrast.T

    def loss(theta):
        z = outputs(theta)[heard]
        if labels.classes is None:
            return (z[:, 0] - y[heard]).square().mean() * labels.scale**2
        return torch.nn.functional.cross_entropy(z, y[heard])

    theta = model.theta.clone().requires_grad_()
    step = torch.autograd.grad(outputs(theta)[row], theta, gradient)[0]
    return float(loss(model.theta - rate * step) - loss(model.theta + rate * step)) / (2 * rate)


@pytest.mark.parametrize("name", ["words, frame, certificate", "whole numbers with -1", "free"])
def test_effect_is_the_expected_change_by_one_step_with_the_true_label(saved, name):
    estimator, X, folder = saved(name)
    X = X.to_numpy() if isinstance(X, pd.DataFrame) else X
    found = open_run(folder).labels["effect"]
    assert (found[estimator.trusted_] == 0).all()
    p = torch.from_numpy(estimator.predict_proba(X if name != "words, frame, certificate" else frame(X)))
    for row in np.flatnonzero(~estimator.trusted_)[::13]:
        w, q = estimator.sample_weight_[row], torch.from_numpy(estimator.label_distribution_[row])
        trained = w * (p[row] - q)
        belief = (w * q + (2 - w) * p[row]) / 2
        changes = [brute_force_change(estimator, X, row, p[row] - e - trained) for e in torch.eye(2).double()]
        expected = sum(b * abs(change) for b, change in zip(belief.tolist(), changes, strict=True))
        assert found[row] == pytest.approx(expected, rel=1e-4, abs=1e-9)


def test_effect_on_numbers_is_the_expected_change_by_one_step_with_the_true_label(saved):
    estimator, X, folder = saved("ridge with gaps")
    found, labels = open_run(folder).labels["effect"], estimator._labels
    z = torch.from_numpy((estimator.predict(X) - labels.mean) / labels.scale)
    heard = estimator.trusted_
    deviation = np.sqrt(np.mean((z.numpy() - labels.numbers)[heard] ** 2))
    errors = deviation * np.random.default_rng(0).normal(size=20_000)
    for row in np.flatnonzero(~estimator.trusted_)[::13]:
        w = estimator.sample_weight_[row]
        target = (estimator.corrected_labels_[row] - labels.mean) / labels.scale
        one = abs(brute_force_change(estimator, X, row, torch.ones(1).double()))  # for a gradient of one
        pull = w * target + (1 - w) * float(z[row])
        truths = np.concatenate([pull + errors, float(z[row]) + errors])
        gradients = 2 * (float(z[row]) - truths) - w * 2 * (float(z[row]) - target)
        assert found[row] == pytest.approx(one * np.abs(gradients).mean(), rel=0.03)


def test_effect_is_not_zero_after_a_fall_back(saved):
    estimator, _, folder = saved("fall back")
    assert estimator.safeness_.fell_back
    assert (open_run(folder).labels["effect"][~estimator.trusted_] > 0).all()


def test_models_disagree_where_they_predict_differently(saved):
    for name, far in (("free", 0), ("ridge", 0.5)):
        estimator, X, folder = saved(name)
        new, old = estimator.model_.predict(X), estimator.reference_model_.predict(X)
        expected = new != old if not far else np.abs(new - old) > far * estimator._labels.scale
        assert open_run(folder).labels["disagrees"].tolist() == expected.tolist()


def test_rows_that_are_streamed_or_sparse_have_the_same_effects(saved):
    estimator, X, folder = saved("free")
    expected = open_run(folder).labels[["effect", "disagrees", "digest"]]
    for given_rows in (ArrayRows(X), scipy.sparse.csr_array(X)):
        pd.testing.assert_frame_equal(effect.of_rows(estimator, given_rows), expected)


# --- facts


def test_the_verdict_says_how_it_ended():
    report = SafenessReport(False, 1, (), "Safe.")

    def certificate(p, tolerance):
        (entry,) = facts_entry(p, tolerance)
        return Certificate((entry,))

    assert facts.verdict(report, None, "raw")["outcome"] == "safe"
    assert facts.verdict(report, certificate(0.01, 0.0), "raw")["outcome"] == "improved"
    assert facts.verdict(report, certificate(0.01, 0.1), "raw")["outcome"] == "safe"
    assert facts.verdict(report.fallen_back("Fell back."), certificate(0.5, 0.0), "raw") == {
        "outcome": "fell back",
        "sentence": "Fell back.",
        "reference": "raw",
    }


def facts_entry(p, tolerance):
    from safegain.certificates.certificate import Entry

    return (Entry("all rows", "error", "sign test", 9, 5, 1, 0.1, 0.01, p, 0.05, tolerance, 1.0),)


def test_facts_of_a_comparison_are_those_of_its_rows(tmp_path):
    estimator, _ = fitted(names=("no", "yes"))
    numbers = np.flatnonzero(estimator.held_out_)
    names = ["raw", "new"]
    wrong = {name: np.arange(len(numbers)) % (3 + i) == 0 for i, name in enumerate(names)}
    estimator.reference_, estimator.reference_model_ = "raw", estimator.raw_model_
    estimator.comparison_ = pd.DataFrame(
        {
            "row": np.tile(numbers, 2),
            "model": np.repeat(np.array(names, object), len(numbers)),
            "loss": np.concatenate([wrong[name] * 2.0 for name in names]),
            "mistake": np.concatenate([wrong[name] for name in names]),
        }
    )
    groups = np.array(["north", "south"])[np.arange(200) % 2]
    told = {
        "label": "answer",
        "columns": {"age": "number"},
        "files": {"train": "a.csv", "trusted": None},
        "notes": ["n"],
    }
    write_run(
        tmp_path, estimator, rows=facts_of_rows(estimator), groups=groups, problem_facts=told, seconds=1.5, ids=groups
    )
    run = open_run(tmp_path)
    assert [(m["name"], m["role"], m["n"]) for m in run.facts["models"]] == [
        ("raw", "reference", len(numbers)),
        ("new", "new", len(numbers)),
    ]
    assert run.facts["models"][1]["loss"] == 2 * wrong["new"].mean()
    for key, part in (("by_class", estimator._labels.given), ("by_group", groups)):
        assert run.facts[key] == [
            {
                "name": name,
                "n": int((part[numbers] == name).sum()),
                "reference": wrong["raw"][part[numbers] == name].mean(),
                "new": wrong["new"][part[numbers] == name].mean(),
            }
            for name in np.unique(part).tolist()
        ]
    assert run.facts["label"] == "answer"
    assert run.facts["seconds"] == 1.5
    assert run.labels["group"].tolist() == run.labels["id"].tolist() == groups.tolist()
    assert run.facts["rows"] == {
        "all": 200,
        "weak": 100,
        "trusted": 100,
        "held_out": len(numbers),
        "set_aside": 0,
        "unlabelled": 0,
    }


def test_numbers_that_json_does_not_know_are_null_to_readers_and_come_back_to_the_estimator(tmp_path):
    estimator, _ = fitted(**FREE)
    estimator.history_ = [{"objective": float("inf"), "margins": {"bootstrap 1": np.float64(0.5)}, "step": np.int64(3)}]
    losses = estimator.comparison_["loss"].to_numpy().copy()
    losses[estimator.comparison_["model"] == "new"] = np.nan  # it diverged
    estimator.comparison_["loss"] = losses
    estimator.save(tmp_path)
    assert open_run(tmp_path).facts["history"] == [{"objective": None, "margins": {"bootstrap 1": 0.5}, "step": 3}]
    assert [model["name"] for model in open_run(tmp_path).facts["models"]] == [estimator.reference_]
    assert load(tmp_path).history_ == estimator.history_


def test_processes_write_their_own_rows_into_one_run(tmp_path):
    X, y, wrong, trusted = rows(400)
    noisy = np.where(wrong & ~trusted, 1 - y, y)
    groups = np.array(["a", "b", "c"])[np.arange(400) % 3]
    order = np.random.default_rng(0).permutation(400)  # both processes have weak and trusted rows
    X, noisy, trusted, groups = X[order], noisy[order], trusted[order], groups[order]
    alone = PGSClassifier("softmax", random_state=0, **FREE).fit(X, noisy, trusted=trusted)

    def work(ranks):
        half = slice(0, 150) if ranks.rank == 0 else slice(150, 400)
        mine = alone_for(alone, half, ranks)
        found = facts_of_rows(mine, X[half])
        write_run(tmp_path / "run", mine, rows=found, groups=groups[half], ranks=ranks)

    in_threads(2, work)
    write_run(tmp_path / "alone", alone, rows=facts_of_rows(alone, X), groups=groups)
    both, one = open_run(tmp_path / "run"), open_run(tmp_path / "alone")
    pd.testing.assert_frame_equal(both.labels, one.labels)
    assert {**both.facts, "created": ""} == {**one.facts, "created": ""}
    same(load(tmp_path / "run").label_issues(), alone.label_issues())
    (tmp_path / "run" / "labels-2-of-2.parquet").unlink()
    with pytest.raises(RunError, match=r"labels-2-of-2.parquet: is missing; the run is incomplete"):
        open_run(tmp_path / "run").labels  # noqa: B018


def alone_for(estimator, part, ranks):
    """The estimator as one of several processes has it."""
    from dataclasses import replace

    mine = clone(estimator)
    vars(mine).update(vars(estimator))
    for name in ("trusted_", "held_out_", "set_aside_", "sample_weight_", "label_distribution_", "corrected_labels_"):
        setattr(mine, name, getattr(estimator, name)[part])
    mine._labels = replace(estimator._labels[part], ranks=ranks)
    return mine


# --- what is shown


def test_shown_rows_are_weak_and_each_has_a_reason():
    n = 20_000
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "trusted": random.random(n) < 0.2,
            "suspicion": random.random(n),
            "effect": random.random(n),
            "disagrees": random.random(n) < 0.1,
        }
    )
    chosen = choose_examples(table)
    weak = table[~table["trusted"]]
    assert set(weak.nlargest(2000, "suspicion").index) <= set(chosen)
    assert set(weak.nlargest(500, "effect").index) <= set(chosen)
    assert not table["trusted"][chosen].any()
    assert len(chosen) <= 3500
    rest = set(chosen) - set(weak.nlargest(2000, "suspicion").index) - set(weak.nlargest(500, "effect").index)
    assert sum(table["disagrees"][list(rest)]) >= 350
    assert len(rest) - sum(table["disagrees"][list(rest)]) >= 300
    assert chosen.tolist() == choose_examples(table).tolist()
    assert choose_examples(table[:30].assign(suspicion=0.0)).tolist() == np.flatnonzero(~table["trusted"][:30]).tolist()


def test_neighbours_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    X = (random.normal(size=(900, 6)) * [1, 10, 100, 1, 1, 0]).astype(np.float32)
    trusted, asked = np.arange(500, 900), np.arange(0, 300)
    found = nearest_trusted(X, asked, trusted)
    scale = X[trusted].astype(float).std(axis=0)
    scale[scale == 0] = 1
    oracle = NearestNeighbors(n_neighbors=3).fit(X[trusted] / scale)
    distance, near = oracle.kneighbors(X[asked] / scale)
    assert found["neighbour"].tolist() == trusted[near].ravel().tolist()
    np.testing.assert_allclose(found["distance"], distance.ravel(), rtol=1e-6)
    assert found["place"].tolist() == [1, 2, 3] * 300
    assert len(nearest_trusted(X, asked[:2], trusted[:2])) == 4


def test_values_are_told_as_text():
    columns = {
        "town": pa.chunked_array([["Ulm", None], ["x" * 5000]]),
        "age": pa.chunked_array([[1, 2], [3]]),
        "pay": np.array([0.5, np.nan, 2.0]),
        "vector": np.arange(30.0).reshape(3, 10),
        "photo": np.zeros((3, 4, 4), np.uint8),
    }
    found = example_frame(columns, np.array([2, 1]), [b"png", None])
    first, second = map(json.loads, found["values"])
    assert list(first) == ["town", "age", "pay", "vector"]
    assert first["town"] == "x" * 2000
    assert second == {"town": "", "age": "2", "pay": "", "vector": "10 11 12 13 14 15 16 17 ... (10 numbers)"}
    assert found["row"].tolist() == [2, 1]
    assert found["picture"].tolist() == [b"png", None]


def test_examples_and_neighbours_are_read_as_they_were_written(saved, tmp_path):
    estimator, X, _ = saved("ridge")
    found = facts_of_rows(estimator, X)
    chosen = choose_examples(found)
    near = nearest_trusted(X, chosen, np.flatnonzero(estimator.trusted_))
    shown = np.union1d(chosen, near["neighbour"])
    examples = example_frame({"age": X[:, 0]}, shown)
    write_run(tmp_path, estimator, rows=found, examples=examples, neighbours=near)
    run = open_run(tmp_path)
    pd.testing.assert_frame_equal(run.neighbours, near)
    assert run.examples["values"].tolist() == examples["values"].tolist()


# --- reading by other means, and hostile folders


def test_the_format_can_be_read_without_this_library(saved):
    _, _, folder = saved("words, frame, certificate")
    text = (Path(__file__).parent.parent / "docs" / "run-format.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "yes, maybe" in done.stdout


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_runs_made_by_hand_are_runs(tmp_path, task):
    run = open_run(make_run(tmp_path / "run", task=task))
    assert len(run.labels) == 300
    assert run.examples is not None
    assert run.neighbours is not None


def looked_at(folder, X, *, reported=True):
    """What is wrong with a folder, in one line, for whoever looks at all of it, reports it and predicts with it.

    None if nothing is. A report takes half a second: it is left out where the same one was made before.
    """

    def read():
        run = open_run(folder)
        return run.labels, run.issues, run.examples, run.neighbours, run.certificates

    def report():
        return report_html(open_run(folder))

    found = None
    for look in (read, *([report] if reported else []), lambda: load(folder).predict(X)):
        try:
            look()
        except RunError as error:
            found = str(error)
    assert found is None or "\n" not in found
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.clear(), "format 'None'"),
        (lambda f: f.update(format=2), "install a newer Safegain"),
        (lambda f: f.update(format=True), "fit again"),
        (lambda f: f.pop("task"), "task is missing"),
        (lambda f: f.pop("rows"), "does not go with run.json"),
        (lambda f: f["verdict"].pop("outcome"), "verdict.outcome is missing"),
        (lambda f: f["rows"].update(all=10**30), "rows.all is not a whole number"),
        (lambda f: f["rows"].update(all=10**12), "has other rows"),
        (lambda f: f.update(classes=["no", "other"]), "does not fit the run's classes"),
        (lambda f: f.update(classes=["no"]), "two or more"),
        (lambda f: f.update(classes=[0, 1]), "does not hold the classes"),
        (lambda f: f.update(task="numbers"), "numbers have no classes"),
        (lambda f: f["models"][0].update(loss="low"), r"models\[0\].loss is not a number"),
        (lambda f: f["estimator"]["fitted"]["model"].update(sizes=[10**12, 2]), "sizes"),
        (lambda f: f["estimator"]["fitted"]["model"].update(kind="two-layer"), "does not go with run.json"),
        (lambda f: f["estimator"]["fitted"].update(class_dtype="<U999999999"), "no type of labels"),
        (lambda f: f["estimator"]["fitted"].update(safeness={"$is": "Recipe", "with": {}}), "no SafenessReport"),
        (lambda f: f["estimator"]["fitted"].update(safeness={"$is": "os.system", "with": {}}), "KeyError"),
        (lambda f: f["estimator"]["parameters"].update(alpha="x"), "alpha"),
        (lambda f: f["estimator"].update(name="SafeRefit"), "is none of PGSClassifier"),
        (lambda f: f.update(encoder={"kind": "other"}), "encoder.parameters is missing"),
        (lambda f: f["estimator"]["fitted"].update(n_features_in=3), "n_features_in is 3, and the model takes 4"),
        (lambda f: f["estimator"]["fitted"].update(feature_names_in=["age"]), "and 1 columns have names"),
        (lambda f: f["rows"].update(weak=-1), "rows.weak is not a whole number of at least 0"),
        (lambda f: f["versions"].update(python=3), r"versions\['python'\] is not a text"),
    ],
)
def test_facts_that_are_wrong_have_a_message_of_their_own(saved, tmp_path, change, message):
    shutil.copytree(saved("words, frame, certificate")[2], tmp_path / "run")
    found = json.loads((tmp_path / "run" / "run.json").read_text())
    change(found)
    (tmp_path / "run" / "run.json").write_text(json.dumps(found))
    with pytest.raises(RunError, match=message):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": NaN}', "no number of JSON"),
        ('{"format": 1e999}', "no number of JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "is not an object"),
        ("\xff", "is damaged"),
    ],
)
def test_text_that_is_no_json_object_is_damage(tmp_path, text, message):
    (tmp_path / "run.json").write_text(text, encoding="latin-1")
    with pytest.raises(RunError, match=message):
        open_run(tmp_path)


def test_a_name_that_claims_a_trillion_parts_is_damage(saved, tmp_path):
    _, X, folder = saved("ridge")
    shutil.copytree(folder, tmp_path / "run")
    (tmp_path / "run" / "labels-1-of-999999999999.parquet").write_bytes(b"")
    assert "labels-2-of-999999999999.parquet: is missing" in looked_at(tmp_path / "run", X)


def test_a_table_with_other_columns_is_damage(saved, tmp_path):
    _, X, folder = saved("ridge")
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "labels-1-of-1.parquet"
    table = pq.read_table(path)
    for changed in (
        table.drop_columns("weight"),
        table.set_column(table.schema.get_field_index("weight"), "weight", pa.array(["x"] * 200)),
        table.set_column(table.schema.get_field_index("weight"), "weight", pa.array([None] * 200, pa.float64())),
        table.slice(1),
        pa.concat_tables([table, table]),
        table.set_column(0, "row", pa.array(np.arange(200)[::-1])),
    ):
        pq.write_table(changed, path)
        with pytest.raises(RunError):
            open_run(tmp_path / "run").labels  # noqa: B018
        looked_at(tmp_path / "run", X)
    pq.write_table(table.append_column("later", pa.array(np.arange(200))), path)
    assert looked_at(tmp_path / "run", X) is None


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
hostile = st.sampled_from([None, 0, -1, 1.0, 2.5, 10**400, -1e308, 1e308, "$\\frac", "a\nb", [], {}]) | junk


def places(value, path=()):
    """Paths to everything within a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_change_of_the_facts_is_anything_but_a_run_error(saved, tmp_path, data):
    _, X, folder = saved(data.draw(st.sampled_from(["free", "ridge", "not certified", "table"])))
    found = json.loads((folder / "run.json").read_text())
    parent, *_ = found, None
    first = data.draw(st.sampled_from(sorted(found)))  # or else most places were those of what `load` reads
    path = data.draw(st.sampled_from([path for path in places(found) if path[:1] == (first,)]))
    for key in path[:-1]:
        parent = parent[key]
    if data.draw(st.integers(0, 3)):
        parent[path[-1]] = data.draw(hostile)
    else:
        del parent[path[-1]]
    mutated = copied(folder, tmp_path)
    (mutated / "run.json").write_text(json.dumps(found))
    looked_at(mutated, X, reported=first not in ("estimator", "encoder"))


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_damage_of_the_bytes_is_anything_but_a_run_error(saved, tmp_path, data):
    _, X, folder = saved(data.draw(st.sampled_from(["free", "ridge", "recipe", "table"])))
    name = data.draw(st.sampled_from(["model.safetensors", "labels-1-of-1.parquet", "run.json"]))
    whole = (folder / name).read_bytes()
    # Most of a file is numbers, and any of them is as good as another: its structure lies at its ends.
    place = st.integers(0, len(whole) - 1) | st.integers(0, 400) | st.integers(len(whole) - 4000, len(whole) - 1)
    changed = bytearray(whole)
    for at, byte in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=4)):
        changed[at % len(changed)] = byte
    if data.draw(st.booleans()):
        del changed[data.draw(place) % len(changed) :]
    mutated = copied(folder, tmp_path)
    (mutated / name).write_bytes(bytes(changed))
    looked_at(mutated, X, reported=name != "model.safetensors")


def copied(folder, to):
    shutil.rmtree(to / "run", ignore_errors=True)
    return shutil.copytree(folder, to / "run")


@pytest.mark.parametrize("kind", ["recipe", "table"])
def test_arrays_of_other_shapes_and_types_are_damage(saved, tmp_path, kind):
    _, X, folder = saved(kind)
    folder = copied(folder, tmp_path)
    path = folder / "model.safetensors"
    arrays = safetensors.load_file(path)
    for name, array in arrays.items():
        for changed in (array[:-1], array.astype(np.int16), array[None]):
            path.write_bytes(safetensors.save({**arrays, name: np.ascontiguousarray(changed)}))
            looked_at(folder, X, reported=False)
        path.write_bytes(safetensors.save({key: each for key, each in arrays.items() if key != name}))
        assert looked_at(folder, X, reported=False) is not None


def test_doubtful_numbers_are_wrong_as_often_as_it_is_said():
    """Of the rows above one half most are wrong; where labels are right, hardly any row is doubted."""
    random = np.random.default_rng(0)
    listed, wrong, false = 0, 0, 0
    for _ in range(40):
        bad = random.random(1000) < 0.3
        right = np.abs(random.normal(size=1000))
        off = np.where(bad, np.abs(random.normal(size=1000) * 4), right)
        doubted = suspicion_of_numbers(np.abs(random.normal(size=150)), off) > DOUBTFUL
        listed, wrong = listed + doubted.sum(), wrong + (bad & doubted).sum()
        false += (suspicion_of_numbers(np.abs(random.normal(size=150)), right) > DOUBTFUL).sum()
    assert wrong / listed > 0.85
    assert listed / 40 > 120  # of 300, half of which lie where right ones do
    assert false / 40_000 < 0.01


def test_doubt_grows_with_the_distance_and_needs_rows_to_compare_with():
    off = np.array([3.0, 0.1, 9.0, 0.2, 50.0])
    found = suspicion_of_numbers(np.full(200, 0.15), np.tile(off, 50))[:5]
    assert found[np.argsort(off)].tolist() == sorted(found)
    assert found[4] > 0.9
    assert suspicion_of_numbers(np.empty(0), off).tolist() == [0] * 5
    assert len(suspicion_of_numbers(off, np.empty(0))) == 0


def test_rows_that_look_alike_are_not_taken_for_rows_of_the_fit():
    random = np.random.default_rng(0)
    known = digests(random.integers(0, 3, (500, 2)).astype(float))  # nine different rows
    fresh = digests(random.integers(0, 3, (200, 2)).astype(float))
    assert repeated(fresh, known) == []
    rare = digests(random.normal(size=(500, 2)))
    assert repeated(np.concatenate([digests(random.normal(size=(200, 2))), rare[:1]]), rare) == [200]
    assert repeated(fresh, np.empty(0, np.uint64)) == []
