"""What a search is asked before it runs: the learner, the task, the processes and the rows."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

from safegain import (
    Adam,
    Auto,
    Descent,
    Free,
    Linear,
    Module,
    Network,
    ParquetRows,
    PGSClassifier,
    PGSRegressor,
    Several,
    Structured,
    Wrapped,
)
from safegain.data.rows import ArrayRows
from safegain.search.base import Search, differentiable
from safegain.search.residuals import Residuals
from tests.search.samples import digits

WRAPPED = Wrapped(LogisticRegression())
MODULE = Module(torch.nn.Linear(3, 2))


@pytest.mark.parametrize("search", [Free(), Structured()])
def test_a_search_by_derivatives_refuses_an_estimator_without_any(search):
    told = f"search: '{search.name}' follows the derivatives of one model, and model="
    for learner, given, named in (
        (WRAPPED, None, r"Wrapped\(.*LogisticRegression.*"),
        (WRAPPED, WRAPPED.estimator, r"LogisticRegression\(\)"),
        (Several([Linear(), WRAPPED]), ["linear", WRAPPED.estimator], r"\['linear', LogisticRegression\(\)\]"),
    ):
        with pytest.raises(ValueError, match=rf"{told}{named} has none to follow; give one of 'network'.*'auto'"):
            search.check_learner(learner, classifies=True, n_processes=1, given=given)
    with pytest.raises(ValueError, match=told):
        differentiable(search, WRAPPED)
    X, y, _, trusted = digits(60, k=2)
    with pytest.raises(ValueError, match=rf"{told}LogisticRegression\(\) has none"):
        PGSClassifier(LogisticRegression(), search=search).fit(X, y, trusted=trusted)
    with pytest.raises(ValueError, match=rf"{told}LogisticRegression\(\) has none"):
        PGSClassifier(LogisticRegression(), search=search).check_params()
    for learner in (Network(), Linear(), MODULE):
        assert differentiable(search, learner) is learner
        search.check_learner(learner, classifies=True, n_processes=1)


def test_the_structured_search_is_for_classes():
    message = "search: 'structured' is for classes; use 'auto', 'free' or 'residuals' for numbers"
    with pytest.raises(ValueError, match=message):
        Structured().check_learner(Linear(), classifies=False, n_processes=1)
    with pytest.raises(ValueError, match=message):
        PGSRegressor(search="structured").fit(np.ones((30, 2)), np.arange(30.0), trusted=range(10))


def test_the_curve_of_residuals_is_for_numbers():
    message = "search: 'residuals' is for numbers; use 'auto', 'free' or 'structured' for classes"
    with pytest.raises(ValueError, match=message):
        PGSClassifier("linear", search="residuals").check_params()
    with pytest.raises(ValueError, match="search: 'residuals' follows the derivatives of one model"):
        PGSRegressor(Ridge(), search="residuals").check_params()
    PGSRegressor(search="residuals").check_params()
    for wrong in (1, "half", -0.1):
        with pytest.raises(ValueError, match="Residuals: held_out must be a share"):
            Residuals(held_out=wrong)


@pytest.mark.parametrize(("search", "classifies"), [(Structured(), True), (Residuals(), False)])
def test_all_rows_in_one_process(search, classifies):
    with pytest.raises(ValueError, match=rf"search: '{search.name}' keeps all rows in one process.* one of 2 of a"):
        search.check_learner(Linear(), classifies=classifies, n_processes=2)
    for other in (Auto(), Free()):
        other.check_learner(Linear(), classifies=True, n_processes=2)


def test_auto_takes_every_learner():
    for learner in (Network(), Linear(), MODULE, WRAPPED):
        Auto().check_learner(learner, classifies=True, n_processes=1)
    Auto().check_learner(Wrapped(Ridge()), classifies=False, n_processes=1)


@pytest.mark.parametrize("search", [Structured(), Residuals()])
def test_rows_that_stay_where_they_are_are_for_free_search_and_the_default(search):
    source, array = ArrayRows(np.ones((4, 2))), np.ones((4, 2))
    with pytest.raises(ValueError, match=f"search: '{search.name}' takes rows in memory; use search='free'"):
        search.check_source(Linear(), source)
    assert search.check_source(Linear(), array) is array
    assert Free().check_source(Linear(), source) is source
    assert Auto().check_source(Linear(), source) is source
    assert search.storage is None


def test_rows_that_stay_where_they_are_and_a_network(tmp_path):
    free, source = Free(), ArrayRows(np.ones((40, 2)))
    batched = Network(solver=Descent(Adam(0.01), batch_size=10))
    assert free.check_source(batched, source) is source
    np.save(tmp_path / "rows.npy", np.ones((40, 2)))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert isinstance(free.check_source(batched, mapped), ArrayRows)
    assert free.check_source(Network(), mapped) is mapped
    assert free.check_source(Linear(), mapped) is mapped
    with pytest.raises(ValueError, match="batch_size: must be given for a network whose rows are streamed"):
        free.check_source(Network(solver=Descent()), source)
    with pytest.raises(ValueError, match="solver, engine: a network whose rows are streamed needs a descent"):
        Free(engine="cg").check_source(batched, source)
    with pytest.raises(ValueError, match="solver, engine: a network whose rows are streamed needs a descent"):
        free.check_source(Network(solver="newton"), source)
    from_file = ParquetRows.__new__(ParquetRows)  # what it holds is not looked at
    with pytest.raises(ValueError, match="X: ParquetRows are streamed from first to last, for model='linear'"):
        free.check_source(batched, from_file)
    assert free.check_source(Linear(), from_file) is from_file


def test_which_learners_read_rows_in_blocks():
    many, few = 10**6, 100
    assert Residuals().streams(Linear(), many)
    for learner in (Network(), MODULE):
        assert not Residuals().streams(learner, many)
    assert not Residuals().streams(Linear(), few)
    for learner in (Linear(), Network(), Wrapped(Ridge())):
        assert not Auto().streams(learner, many)
    assert Free().streams(Linear(), few)
    assert not Free().streams(Network(), many)
    assert not Structured().streams(Linear(), many)


def test_a_search_is_abstract():
    with pytest.raises(TypeError):
        Search()
