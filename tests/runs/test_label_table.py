import numpy as np
import pyarrow.parquet as pq
import pytest

from safegain import Free, PGSClassifier
from safegain.estimators.issues import suspicions
from safegain.runs import RunError, open_run
from safegain.runs.doubt import suspicion_of_numbers
from safegain.runs.folder import DOUBTFUL
from safegain.runs.label_table import GROUP_ROWS
from safegain.runs.loading import load
from safegain.runs.saving import save
from tests.runs.fits import FITS, fitted, same


@pytest.mark.parametrize("name", FITS)
def test_issues_of_the_folder_are_those_of_the_estimator(saved, name):
    estimator, X, folder = saved(name)
    run, labels = open_run(folder), estimator.record_.labels
    expected = estimator.label_issues()
    suspicion = suspicions(labels, estimator.trusted_, estimator._alternatives())
    if labels.classes is None and estimator.record_.suggestions is None:  # numbers are doubted by where they lie
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
        assert run.facts.n_suspicious == len(expected)
        if len(expected):
            assert type(run.issues["suggested"].tolist()[0]) is type(expected["suggested"].tolist()[0])
    assert run.labels["given"].isna().tolist() == (~labels.labelled).tolist()
    assert run.labels["corrected"].tolist() == estimator.corrected_labels_.tolist()
    assert (run.labels["suspicion"][run.labels["trusted"]] == 0).all()
    np.testing.assert_allclose(run.labels["suspicion"], suspicion, atol=1e-6)


def test_many_rows_are_written_in_row_groups(tmp_path):
    n = GROUP_ROWS + 7
    random = np.random.default_rng(0)
    X, trusted = random.normal(size=(n, 3)), np.arange(n) < 200
    y = np.where(random.random(n) < 0.9, X[:, 0] > 0, X[:, 0] < 0)
    estimator = PGSClassifier("linear", search=Free(n_outer=1)).fit(X, y, trusted=trusted)
    save(estimator, tmp_path, X)
    assert pq.ParquetFile(tmp_path / "labels-1-of-1.parquet").num_row_groups == 2
    loaded = load(tmp_path)
    for name in ("label_distribution_", "sample_weight_", "corrected_labels_"):
        same(getattr(loaded, name), getattr(estimator, name))
    same(loaded.ledger_.learned_from, estimator.ledger_.learned_from)


def test_classes_that_no_column_holds_are_refused_with_a_word(tmp_path):
    estimator, _ = fitted(names=np.array(["a\ud800", "b"], object))
    with pytest.raises(RunError, match="classes: a run folder holds"):
        save(estimator, tmp_path)
