import numpy as np
import pytest
import scipy.sparse

from safegain.data.rows import ArrayRows
from safegain.runs import RunError, open_run
from safegain.runs.digest import digests, refused, repeated
from safegain.runs.loading import load
from safegain.runs.saving import save
from tests.runs.fits import rows, same


def test_a_run_without_its_rows_has_no_effects_and_knows_no_rows(saved, tmp_path):
    estimator, X, _ = saved("ridge")
    save(estimator, tmp_path)
    run = open_run(tmp_path)
    assert not {"effect", "disagrees", "digest"} & set(run.labels)
    with pytest.raises(RunError, match=r"saved without its rows.*save\(model, folder, X\)"):
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


def test_rows_that_look_alike_are_not_taken_for_rows_of_the_fit():
    random = np.random.default_rng(0)
    known = digests(random.integers(0, 3, (500, 2)).astype(float))  # nine different rows
    fresh = digests(random.integers(0, 3, (200, 2)).astype(float))
    assert repeated(fresh, known) == []
    rare = digests(random.normal(size=(500, 2)))
    assert repeated(np.concatenate([digests(random.normal(size=(200, 2))), rare[:1]]), rare) == [200]
    assert repeated(fresh, np.empty(0, np.uint64)) == []
