from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone

from safegain import Descent, Free, Module, PGSClassifier
from safegain.data.digest import among, digests
from safegain.data.settings import Settings
from safegain.encoding import TableEncoder
from safegain.runs import RunError
from safegain.runs.loading import load
from safegain.runs.saving import save
from tests.runs.fits import FITS, KINDS, fitted, network, same


@pytest.mark.parametrize("name", FITS)
def test_what_is_loaded_has_the_bits_of_what_was_saved(saved, name):
    estimator, X, folder = saved(name)
    loaded = load(folder)
    same(loaded.predict(X), estimator.predict(X))
    same(loaded.label_issues(), estimator.label_issues())
    own = not isinstance(estimator.model, str | Settings)  # an estimator of the user's comes back as a copy with a seed
    left = {"model"} if own else set()
    same(
        *({name: each for name, each in e.get_params(not own).items() if name not in left} for e in (loaded, estimator))
    )
    assert type(loaded.model) is type(estimator.model)
    fresh = slice(0, 60)
    y = estimator.predict(X)
    same(loaded.ledger_.learned_from, estimator.ledger_.learned_from)
    same(loaded.ledger_.tested, estimator.ledger_.tested)
    ledgers = [each.ledger_.trials.copy() for each in (loaded, estimator)]
    assert ledgers[0] == ledgers[1]
    certificates = []
    for each in (loaded, estimator):
        each.ledger_.allow("these are rows of the fit")
        certificates.append(each.certify(X[fresh], y[fresh]))
    *same_as, told = certificates[0].remarks
    assert told == "The run folder does not know of this test: only safegain certify writes tests down there."
    assert replace(certificates[0], remarks=tuple(same_as)) == certificates[1]
    estimator.ledger_.trials.pop()
    assert str(loaded.safeness_) == str(estimator.safeness_)
    known = {key for key in vars(estimator) if key.endswith("_")}
    assert known == {key for key in vars(loaded) if key.endswith("_")}
    for key in known - {"record_", "ledger_", "model_", "reference_model_", "references_"}:
        same(getattr(loaded, key), getattr(estimator, key))
    assert loaded.record_.clip == estimator.record_.clip
    assert list(loaded.references_) == list(estimator.references_)
    models = {"model_": (loaded.model_, estimator.model_)}
    models |= {key: (model, estimator.references_[key]) for key, model in loaded.references_.items()}
    for read, written in models.values():
        same(read.predict(X), written.predict(X))
        if hasattr(read, "outputs"):
            same(*(np.asarray(each.outputs(X)) for each in (read, written)))
    assert loaded.reference_model_ is loaded.references_[loaded.reference_]
    assert (loaded.model_ is loaded.reference_model_) == (estimator.model_ is estimator.reference_model_)
    if isinstance(estimator, PGSClassifier):
        same(loaded.predict_proba(X), estimator.predict_proba(X))
    clone(loaded)


def test_what_is_loaded_is_saved_again_as_it_was(saved, tmp_path):
    _, X, folder = saved("words, frame, certificate")
    save(load(folder), tmp_path / "again", X)
    for name in ("labels-1-of-1.parquet", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_most_of_these_fits_hand_a_new_model_back_and_some_fall_back(saved):
    assert {name for name in FITS if saved(name)[0].safeness_.fell_back} == {"fall back", "not certified"}


def test_a_module_of_the_users_lends_its_code_and_takes_its_numbers_from_the_folder(tmp_path):
    own = network()
    own[1].running_mean += 0.5
    estimator, X = fitted(Module(own, solver=Descent(n_steps=10)), search=Free(n_outer=1))
    save(estimator, tmp_path, X)
    with pytest.raises(RunError, match=r"Module of your own \(Sequential\).*load\(folder, module="):
        load(tmp_path)
    with pytest.raises(RunError, match="give one with the layers"):
        load(tmp_path, module=torch.nn.Linear(4, 2))
    given = network()
    loaded = load(tmp_path, module=given)
    same(loaded.predict_proba(X), estimator.predict_proba(X))
    assert loaded.model is given
    assert (given[1].running_mean == 0).all()  # the user's own is left as it was


def test_a_module_is_not_taken_where_none_is_needed(saved):
    with pytest.raises(RunError, match="leave it out"):
        load(saved("ridge")[2], module=network())


def test_a_run_over_a_table_is_a_pipeline_that_begins_with_its_encoder(saved, tmp_path):
    estimator, table, folder = saved("table")
    loaded = load(folder)
    assert list(loaded.named_steps) == ["encoder", "model"]
    X = TableEncoder(KINDS).fit_transform(table)
    same(loaded.predict_proba(table), estimator.predict_proba(X))
    few = loaded["encoder"].transform({name: values[:5] for name, values in table.items()})
    assert among(digests(few), loaded["model"].ledger_.learned_from).all()
