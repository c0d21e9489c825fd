from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from safegain import Free, PGSClassifier, PGSRegressor
from safegain.certificates.certificate import Certificate, Entry
from safegain.data.ranks import ALONE
from safegain.runs import findings, open_run
from safegain.runs.facts import Files, Part, Record, Repeats, Rows, Verdict
from safegain.runs.loading import load
from safegain.runs.saving import Story, facts_of_rows, save, write_run
from safegain.search.contest import SafenessReport
from tests.runs.fits import fitted, rows, same


def test_the_verdict_says_how_it_ended():
    report = SafenessReport(False, 1, (), "Safe.")

    def certificate(p, tolerance):
        return Certificate((Entry("all rows", "error", "sign test", 9, 5, 1, 0.1, 0.01, p, 0.05, tolerance, 1.0),))

    assert findings.verdict(report, None, "raw").outcome == "safe"
    assert findings.verdict(report, certificate(0.01, 0.0), "raw").outcome == "improved"
    assert findings.verdict(report, certificate(0.01, 0.1), "raw").outcome == "safe"
    assert findings.verdict(report.fallen_back("Fell back."), certificate(0.5, 0.0), "raw") == Verdict(
        "fell back", "raw", "Fell back."
    )


def test_facts_of_a_comparison_are_those_of_its_rows(tmp_path):
    estimator, _ = fitted(names=("no", "yes"))
    numbers = np.flatnonzero(estimator.held_out_)
    names = ["raw", "new"]
    wrong = {name: np.arange(len(numbers)) % (3 + i) == 0 for i, name in enumerate(names)}
    comparison = pd.DataFrame(
        {
            "row": np.tile(numbers, 2),
            "model": np.repeat(np.array(names, object), len(numbers)),
            "loss": np.concatenate([wrong[name] * 2.0 for name in names]),
            "mistake": np.concatenate([wrong[name] for name in names]),
        }
    )
    estimator.adopt(replace(estimator.record_, reference="raw", comparison=comparison))
    groups = np.array(["north", "south"])[np.arange(200) % 2]
    files = Files("a.csv", None)
    story = Story("answer", {"age": "number"}, files, ["n"], groups=groups, ids=groups, seconds=1.5)
    write_run(tmp_path, estimator, facts_of_rows(estimator), story)
    run = open_run(tmp_path)
    assert [(m.name, m.role, m.n) for m in run.facts.models] == [
        ("raw", "reference", len(numbers)),
        ("new", "new", len(numbers)),
    ]
    assert run.facts.models[1].loss == 2 * wrong["new"].mean()
    for found, part in ((run.facts.by_class, estimator.record_.labels.given), (run.facts.by_group, groups)):
        assert found == [
            Part(
                name,
                int((part[numbers] == name).sum()),
                wrong["raw"][part[numbers] == name].mean(),
                wrong["new"][part[numbers] == name].mean(),
            )
            for name in np.unique(part).tolist()
        ]
    assert run.facts.label == "answer"
    assert run.facts.seconds == 1.5
    assert run.facts.files == files
    assert run.labels["group"].tolist() == run.labels["id"].tolist() == groups.tolist()
    n = len(numbers)
    assert run.facts.rows == Rows(all=200, weak=100, trusted=100, held_out=n, set_aside=0, unlabelled=0, sample=100)


def test_numbers_that_json_does_not_know_are_null_to_readers_and_come_back_to_the_estimator(tmp_path):
    estimator, _ = fitted(search=Free(n_outer=2))
    history = [{"objective": float("inf"), "margins": {"bootstrap 1": np.float64(0.5)}, "step": np.int64(3)}]
    diverged = estimator.comparison_.assign(
        loss=lambda found: found["loss"].where(found["model"] != "new")  # and is NaN for the new model
    )
    estimator.adopt(replace(estimator.record_, history=history, comparison=diverged))
    save(estimator, tmp_path)
    assert open_run(tmp_path).facts.history == [Record(margins={"bootstrap 1": 0.5}, step=3)]
    assert [model.name for model in open_run(tmp_path).facts.models] == [estimator.reference_]
    assert load(tmp_path).history_ == estimator.history_


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_labels_before_their_check_are_told_and_stored(tmp_path, kind):
    X, y, wrong, trusted = rows(300)
    sample = trusted & (np.arange(300) % 3 > 0)
    if kind == "classes":
        names = np.array(["no", "yes"])
        given, right = names[np.where(wrong, 1 - y, y)], np.where(trusted, names[y], None)
        model = PGSClassifier("linear", random_state=0).fit(X, given, right=right, sample=sample)
    else:
        truth = X[:, 1] + 0.1 * X[:, 2]
        given, right = truth + 5 * wrong, np.where(trusted, truth, np.nan)
        model = PGSRegressor("linear", random_state=0).fit(X, given, right=right, sample=sample)
    save(model, tmp_path, X)
    found = open_run(tmp_path).facts.checked
    others = trusted & ~sample
    assert (found.n, found.wrong) == (sample.sum(), (sample & wrong).sum())
    assert (found.others, found.others_wrong) == (others.sum(), (others & wrong).sum())
    assert open_run(tmp_path).facts.rows.sample == sample.sum()
    loaded = load(tmp_path)
    for name in ("given", "sample", "trusted"):
        same(getattr(loaded.record_, name), getattr(model.record_, name))
    for name in ("given", "before", "labelled", "numbers"):
        same(getattr(loaded.record_.labels, name), getattr(model.record_.labels, name))
    same(loaded.label_issues(), model.label_issues())
    assert open_run(tmp_path).labels["given"].tolist() == given.tolist()
    if kind == "numbers":
        assert found.by_class is None
        return
    by_class = {each.name: (each.n, each.wrong) for each in found.by_class}
    assert by_class == {
        name: ((sample & (given == name)).sum(), (sample & wrong & (given == name)).sum()) for name in ("no", "yes")
    }


def test_nothing_is_told_of_labels_that_were_trusted_from_the_first(tmp_path):
    estimator, X = fitted()
    save(estimator, tmp_path, X)
    assert open_run(tmp_path).facts.checked is None
    assert load(tmp_path).record_.labels.before is None


def test_rows_that_repeat_are_counted():
    estimator, X = fitted(names=("no", "yes"))
    assert findings.repeats(estimator.record_, ALONE) == Repeats(0, 0, 0)
    record, weak = estimator.record_, np.flatnonzero(~estimator.trusted_)
    trusted = np.flatnonzero(estimator.trusted_)
    given = record.given
    same_label = weak[given[weak] == given[weak[0]]][:2]
    other_label = weak[given[weak] != given[weak[0]]][:1]
    D = record.digests.copy()
    D[same_label[1]] = D[same_label[0]]  # two weak rows of one label
    D[trusted[0]] = D[weak[-1]]  # a trusted row that is like a weak one
    D[trusted[2]] = D[trusted[1]]  # two trusted ones
    assert findings.repeats(replace(record, digests=D), ALONE) == Repeats(6, 1, 0)
    D[other_label] = D[same_label[0]]
    assert findings.repeats(replace(record, digests=D), ALONE) == Repeats(7, 1, 3)
    assert len(X) == len(D)
