import json

import pandas as pd
from typer.testing import CliRunner

from safegain.cli import app
from safegain.cli.demo import PARTS
from tests.command import done


def test_the_demo_from_files_to_a_run(tmp_path):
    out = done("demo", tmp_path / "demo")
    assert "Safe: better than the reference" in out
    facts = json.loads((tmp_path / "demo" / "run" / "run.json").read_text())
    assert facts["columns"] == {"picture": "image"}
    assert facts["rows"]["weak"] == PARTS["train"] == 1200
    labels = pd.read_parquet(tmp_path / "demo" / "run" / "labels-1-of-1.parquet")
    assert 350 < (labels["corrected"] != labels["given"]).sum() < 600  # some 480 are wrong
    certify = ["certify", tmp_path / "demo" / "run", tmp_path / "demo" / "fresh.csv"]
    assert CliRunner().invoke(app, list(map(str, certify))).exit_code == 0
    assert CliRunner().invoke(app, ["demo", str(tmp_path / "demo")]).exit_code == 2
