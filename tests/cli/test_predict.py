"""Rows of Parquet are predicted some at a time."""

import numpy as np
import pandas as pd
from pyarrow.parquet import ParquetFile
from typer.testing import CliRunner

from safegain.cli import app
from safegain.jobs.predicting import predictions
from safegain.tables import parquet_files
from tests.command import here


def test_parquet_is_predicted_block_by_block(cars, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "BLOCK_ROWS", 7)
    monkeypatch.setattr("safegain.tables.export.GROUP_BYTES", 500)
    frame = pd.read_csv(cars / "fresh.csv")
    (tmp_path / "fresh").mkdir()
    frame[:10].to_parquet(tmp_path / "fresh" / "1.parquet")
    frame[10:][frame.columns[::-1]].to_parquet(tmp_path / "fresh" / "2.parquet", row_group_size=11)
    here("predict", cars / "run", cars / "fresh.csv", "--out", tmp_path / "whole.csv", "--id", "car")
    whole = pd.read_csv(tmp_path / "whole.csv")
    for name in ("p.csv", "p.parquet", "p.jsonl"):
        here("predict", cars / "run", tmp_path / "fresh", "--out", tmp_path / name, "--id", "car")
    for found in (
        pd.read_csv(tmp_path / "p.csv"),
        pd.read_parquet(tmp_path / "p.parquet"),
        pd.read_json(tmp_path / "p.jsonl", lines=True),
    ):
        pd.testing.assert_frame_equal(found, whole, check_dtype=False, atol=1e-6, rtol=0)
    assert ParquetFile(tmp_path / "p.parquet").num_row_groups > 1
    shown = here("predict", cars / "run", tmp_path / "fresh")
    assert shown.count("prediction") == 1
    assert len(shown.splitlines()) == len(frame) + 1


def test_a_wrong_row_far_down_is_named_and_nothing_is_left(cars, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "BLOCK_ROWS", 7)
    frame = pd.read_csv(cars / "fresh.csv")
    number = frame.select_dtypes("float").columns[0]

    def refused(frame, words):
        frame.to_parquet(tmp_path / "f.parquet")
        asked = ["predict", str(cars / "run"), str(tmp_path / "f.parquet"), "--id", "car"]
        ended = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "p.parquet")])
        assert ended.exit_code == 2
        assert words in " ".join(ended.stderr.split())
        assert [path.name for path in tmp_path.iterdir()] == ["f.parquet"]

    refused(frame.assign(**{number: np.where(np.arange(len(frame)) == 16, np.inf, frame[number])}), "row 16")
    twice = frame.assign(car=np.where(np.arange(len(frame)) == 15, frame["car"][2], frame["car"]))
    refused(twice, "row 2 and row 15, column 'car': have the same id")
    refused(frame.drop(columns=number), f"lacks '{number}', which the training rows have")


def test_no_more_than_a_block_is_asked_for(cars, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "BLOCK_ROWS", 7)
    pd.read_csv(cars / "fresh.csv").to_parquet(tmp_path / "f.parquet")
    parts = predictions(cars / "run", tmp_path / "f.parquet")
    first, second = next(parts), next(parts)
    assert first["row"].tolist() == list(range(7))
    assert second["row"].tolist() == list(range(7, 14))
    assert len(first["prediction"]) == 7
