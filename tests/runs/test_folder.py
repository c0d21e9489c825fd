import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from safegain.jobs.shown import choose_examples, example_frame, nearest_trusted
from safegain.runs import RunError, open_run
from safegain.runs.saving import Story, facts_of_rows, write_run
from tests.run_folders import make_run


@pytest.mark.parametrize(
    ("name", "told"),
    [("words, frame, certificate", "new mixture ['model'"), ("free, words, frame", "['no', 'yes, maybe'] (5, 1)")],
)
def test_the_format_can_be_read_without_this_library(saved, name, told):
    _, _, folder = saved(name)
    text = (Path(__file__).parents[2] / "docs" / "run-format.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "yes, maybe" in done.stdout
    assert told in done.stdout


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_runs_made_by_hand_are_runs(tmp_path, task):
    run = open_run(make_run(tmp_path / "run", task=task))
    assert len(run.labels) == 300
    assert run.examples is not None
    assert run.neighbours is not None


def test_examples_and_neighbours_are_read_as_they_were_written(saved, tmp_path):
    estimator, X, _ = saved("ridge")
    found = facts_of_rows(estimator, X)
    chosen = choose_examples(found)
    near = nearest_trusted(X, chosen, np.flatnonzero(estimator.trusted_))
    shown = np.union1d(chosen, near["neighbour"])
    examples = example_frame({"age": X[:, 0]}, shown)
    write_run(tmp_path, estimator, found, Story(examples=examples, neighbours=near))
    run = open_run(tmp_path)
    pd.testing.assert_frame_equal(run.neighbours, near)
    assert run.examples["values"].tolist() == examples["values"].tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": NaN}', "no number of JSON"),
        ('{"format": 1e999}', "no number of JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "is not an object"),
        ("\xff", "is damaged"),
    ],
)
def test_text_that_is_no_json_object_is_damage(tmp_path, text, message):
    (tmp_path / "run.json").write_text(text, encoding="latin-1")
    with pytest.raises(RunError, match=message):
        open_run(tmp_path)
