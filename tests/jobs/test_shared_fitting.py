import numpy as np
import pandas as pd
import pytest

from safegain import load
from safegain.jobs.shared_fitting import read_together
from safegain.runs import open_run
from safegain.tables import Source
from tests.command import done, here
from tests.ranks_worker import digits
from tests.thread_ranks import in_threads


def test_two_processes_share_a_table_of_numbers(tmp_path):
    X, y, trusted = digits()
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)]).assign(digit=y, checked=trusted)
    (tmp_path / "table").mkdir()
    frame.iloc[:700].to_parquet(tmp_path / "table" / "a.parquet", row_group_size=300)
    frame.iloc[700:].to_parquet(tmp_path / "table" / "b.parquet")
    search = ["--model", "softmax", "--search-space", "free", "--reference", "raw", "--n-outer", 3, "--tol", 1e-12]
    options = [tmp_path / "table", "--label", "digit", "--trusted", "checked", *search]
    assert here("fit", *options, "--out", tmp_path / "1").count("labels are more likely wrong") == 1
    out = done("fit", *options, "--out", tmp_path / "2", processes=2)
    assert out.count("labels are more likely wrong") == 1
    alone, shared_one = (open_run(tmp_path / name) for name in ("1", "2"))
    assert len(list((tmp_path / "2").glob("labels-*-of-2.parquet"))) == 2
    np.testing.assert_allclose(shared_one.labels["weight"], alone.labels["weight"], rtol=1e-5, atol=1e-7)
    assert (shared_one.labels["corrected"] == alone.labels["corrected"]).all()
    assert (tmp_path / "2" / "report.html").exists()
    assert (load(tmp_path / "2").predict(X) == load(tmp_path / "1").predict(frame)).mean() > 0.99


def test_processes_agree_that_a_table_is_wrong(tmp_path):
    pd.DataFrame({"x": range(9), "y": range(9), "ok": [0, 1, 0, 1, 0, 1, 0, 1, 7]}).to_csv(tmp_path / "t.csv")

    def said(ranks):
        with pytest.raises(ValueError, match="holds 7; it must be true or false") as caught:
            read_together(Source(str(tmp_path / "t.csv"), "y", "ok"), ranks)
        return str(caught.value)

    assert len(set(in_threads(2, said))) == 1
