import shutil
import sys
from dataclasses import replace as changed

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safegain import Free, PGSClassifier
from safegain.runs import RunError, open_run
from safegain.runs.loading import load
from safegain.runs.saving import Story, facts_of_rows, save, write_run
from tests.runs.fits import rows, same
from tests.thread_ranks import in_threads


def test_a_folder_that_holds_a_run_is_not_written_to(saved, tmp_path):
    estimator, X, folder = saved("ridge")
    before = (folder / "run.json").read_bytes()
    with pytest.raises(RunError, match="holds a run already; give another folder"):
        save(estimator, folder)
    assert (folder / "run.json").read_bytes() == before
    (tmp_path / "request.json").write_text("{}")
    with pytest.raises(RunError, match="holds a run already"):
        save(estimator, tmp_path)
    with pytest.raises(RunError, match="cannot be written"):
        save(estimator, folder / "run.json" / "below")
    with pytest.raises(ValueError, match="X: has 3 rows and the fit had 200"):
        save(estimator, tmp_path / "new", X[:3])
    assert not (tmp_path / "new").exists()


def test_a_killed_save_is_no_run_and_does_not_stand_in_the_way(saved, tmp_path):
    estimator, X, folder = saved("ridge")
    shutil.copytree(folder, tmp_path / "run")
    (tmp_path / "run" / "run.json").unlink()
    (tmp_path / "run" / "labels-2-of-3.parquet").write_bytes(b"left over")
    with pytest.raises(RunError, match="holds no run"):
        load(tmp_path / "run")
    save(estimator, tmp_path / "run", X)
    same(load(tmp_path / "run").predict(X), estimator.predict(X))


def test_processes_write_their_own_rows_into_one_run(tmp_path):
    X, y, wrong, trusted = rows(400)
    noisy = np.where(wrong & ~trusted, 1 - y, y)
    groups = np.array(["a", "b", "c"])[np.arange(400) % 3]
    order = np.random.default_rng(0).permutation(400)  # both processes have weak and trusted rows
    X, noisy, trusted, groups = X[order], noisy[order], trusted[order], groups[order]
    alone = PGSClassifier("linear", search=Free(n_outer=2), random_state=0).fit(X, noisy, trusted=trusted)

    def work(ranks):
        half = slice(0, 150) if ranks.rank == 0 else slice(150, 400)
        mine = alone_for(alone, half, ranks)
        write_run(tmp_path / "run", mine, facts_of_rows(mine, X[half]), Story(groups=groups[half]), ranks=ranks)

    in_threads(2, work)
    write_run(tmp_path / "alone", alone, facts_of_rows(alone, X), Story(groups=groups))
    both, one = open_run(tmp_path / "run"), open_run(tmp_path / "alone")
    pd.testing.assert_frame_equal(both.labels, one.labels)
    assert replace(both.facts, created="") == replace(one.facts, created="", repeats=None)  # which one process knows
    same(load(tmp_path / "run").label_issues(), alone.label_issues())
    (tmp_path / "run" / "labels-2-of-2.parquet").unlink()
    with pytest.raises(RunError, match=r"labels-2-of-2.parquet: is missing; the run is incomplete"):
        open_run(tmp_path / "run").labels  # noqa: B018


def alone_for(estimator, part, ranks):
    """The estimator as one of several processes has it."""
    mine, record = clone(estimator), estimator.record_
    names = ("trusted", "sample", "held_out", "set_aside", "weight", "moved", "corrected", "digests")
    own = {name: getattr(record, name)[part] for name in names}
    mine.adopt(changed(record, labels=changed(record.labels[part], ranks=ranks), **own))
    mine.n_features_in_ = estimator.n_features_in_
    return mine


@pytest.mark.parametrize("model", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_an_estimator_of_the_users_own_is_not_stored_without_skops(tmp_path, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    X, y, _, trusted = rows()
    estimator = PGSClassifier(model, random_state=0).fit(X, y, trusted=trusted)
    said = rf"^model: {type(model).__name__} .* pickle.*takes skops.*store `model_.estimator` yourself$"
    for given in (X, None):
        with pytest.raises(RunError, match=said):
            save(estimator, tmp_path / "run", given)
    assert not (tmp_path / "run").exists()


def test_an_estimator_of_other_types_is_refused_by_their_names(tmp_path):
    X, y, _, trusted = rows()
    estimator = PGSClassifier(KNeighborsClassifier(), random_state=0).fit(X, y, trusted=trusted)
    with pytest.raises(RunError, match=r"^model: KNeighborsClassifier holds .*KDTree.* yourself$"):
        save(estimator, tmp_path / "run")
    assert not (tmp_path / "run").exists()
