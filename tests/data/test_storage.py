"""Weights and labels in files."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from safegain import Free, PGSClassifier
from tests.data.streamed import regressor, same


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch):
    monkeypatch.setattr("safegain.data.design.KEEP_BYTES", 0)  # as if there were many rows: every pass is read anew


def test_weights_and_labels_may_be_mapped_to_files(problem, tmp_path):
    X, y, trusted = problem
    softmax = PGSClassifier("linear", search=Free(n_outer=3), random_state=0)
    for model, labels in ((regressor(), y), (softmax, np.nan_to_num(y) > 0)):
        files = []

        def mapped(path, *args, files=files, plain=torch.from_file, **kwargs):
            files.append(path)
            return plain(path, *args, **kwargs)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "from_file", mapped)
            found = clone(model).set_params(search__workspace=tmp_path).fit(X, labels, trusted=trusted)
        same(clone(model).fit(X, labels, trusted=trusted), found)
        moments = 4 if labels is y else 0  # Adam's, for numbers
        assert len(files) == 2 + moments + 2 * model.search.n_outer + 2  # start, moments, gradients, results
        assert all(file.startswith(str(tmp_path)) for file in files)
        assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="workspace: cannot write to"):
        regressor(workspace=tmp_path / "missing").fit(X, y, trusted=trusted)
