"""The ledger of a run: what was learned from and tested is still known after loading."""

import shutil

import numpy as np
import pytest
import scipy.sparse
from safetensors.numpy import save_file

from safegain.certificates.ledger import About, Ledger, Trial, UsedRows
from safegain.data.digest import digests
from safegain.data.rows import ArrayRows
from safegain.runs import RunError
from safegain.runs.ledger_file import read_ledger, write_ledger
from safegain.runs.loading import load
from tests.runs.fits import rows, same


def test_rows_of_the_fit_are_known_again_and_others_are_not(saved):
    _, X, folder = saved("words, frame, certificate")
    ledger = load(folder).ledger_
    fresh = rows(seed=1)[0]
    learned_from = X.to_numpy()[~load(folder).set_aside_]
    mixed = np.concatenate([fresh[:10], learned_from[50:60]])
    rounded = np.vectorize(lambda x: float(f"{x:.6g}"))(mixed)
    for given_rows in (mixed, scipy.sparse.csr_array(mixed), ArrayRows(mixed), rounded):
        with pytest.raises(UsedRows, match=r"10 of 20 rows \(row 10 first\) were in the fit"):
            ledger.look_for(digests(given_rows), About())
    used, twins = ledger.look_for(digests(fresh), About())
    assert not used.any()
    assert twins == 0


def test_the_rows_of_the_certificate_are_used_up(saved):
    estimator, X, folder = saved("words, frame, certificate")
    loaded = load(folder)
    same(loaded.ledger_.tested, estimator.ledger_.tested)
    assert loaded.ledger_.outcomes == estimator.ledger_.outcomes == [estimator.certificate_.certified]
    aside = X[estimator.set_aside_]
    with pytest.raises(UsedRows, match="were tested before"):
        loaded.certify(aside, loaded.corrected_labels_[estimator.set_aside_])


def test_what_is_written_is_read(saved, tmp_path):
    ledger = Ledger().after(saved("ridge")[0].ledger_.learned_from)
    ledger.show(np.arange(3.0)[:, None])
    ledger.write(ledger.learned_from[:3], Trial(0.05, 0.04, True, 3), ledger.about_next())
    ledger.write(ledger.learned_from[3:5], Trial(0.1, 0.08, False, 2))
    write_ledger(tmp_path, ledger)
    found = read_ledger(tmp_path, ledger.learned_from)
    same(found.tested, ledger.tested)
    same(found.learned_from, ledger.learned_from)
    assert found.trials == ledger.trials
    same(found.tested_cells[:3], digests(np.arange(3.0)[:, None]))
    assert not found.tested_cells[3:].any()


@pytest.mark.parametrize(
    "arrays",
    [
        {"tested": np.zeros((3, 2), np.uint64)},
        {"tested": np.zeros((3, 2), np.int64), "outcomes": np.zeros(1, bool)},
        {"tested": np.zeros(3, np.uint64), "outcomes": np.zeros(1, bool)},
        {"tested": np.zeros((3, 2), np.uint64), "outcomes": np.zeros((1, 1), bool)},
        None,
        b"nothing of the kind",
    ],
    ids=["no outcomes", "type", "shape", "outcomes", "absent", "bytes"],
)
def test_a_ledger_that_is_damaged_is_told_in_one_line(saved, tmp_path, arrays):
    folder = tmp_path / "run"
    shutil.copytree(saved("ridge")[2], folder)
    file = folder / "ledger.safetensors"
    file.unlink()
    if isinstance(arrays, bytes):
        file.write_bytes(arrays)
    elif arrays is not None:
        save_file(arrays, file)
    with pytest.raises(RunError, match=r"ledger\.safetensors: (is damaged|cannot be read)") as error:
        load(folder)
    assert "\n" not in str(error.value)
