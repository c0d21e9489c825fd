"""Files as people have them: what is wrong is said in one line, with exit code 2; nothing is written, no traceback."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from safegain.cli import app
from safegain.runs import open_run
from safegain.tables.bad_file import BadFile, listed, no_column, shown

ROWS = 120
HEADER = "age,town,income,y\n"


def good(n=ROWS, seed=0):
    random = np.random.RandomState(seed)
    towns = ["Ulm", "Bonn", "Kiel"]
    lines = [
        f"{random.randint(90)},{towns[i % 3]},{random.randint(9999)},{'ab'[random.randint(2)]}\n" for i in range(n)
    ]
    return HEADER + "".join(lines)


def fit(folder, *, train="train.csv", trusted="trusted.csv", more=()):
    words = [
        "fit",
        str(folder / train),
        "--label",
        "y",
        "--trusted",
        str(folder / trusted),
        "--out",
        str(folder / "out"),
    ]
    return CliRunner().invoke(app, [*words, "--model", "network, n_hidden=4, recipe={n_steps=5}", *more])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.csv").write_text(good())
    (tmp_path / "trusted.csv").write_text(good(60, seed=1))
    return tmp_path


def check(folder, ended, *words):
    assert ended.exit_code == 2, (ended.output, ended.exception)
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
    assert ended.stdout == ""
    for word in words:
        assert word in ended.stderr, ended.stderr
    assert not (folder / "out").exists()


def lines_with(number, line, text=None):
    lines = (text or good()).splitlines(keepends=True)
    lines[number - 1] = line
    return "".join(lines)


BAD = {
    "missing label column": (HEADER.replace(",y", ",label") + "1,a,2,b\n" * 9, ["'y'"]),
    "broken UTF-8": (good().encode()[:200] + b"\xff\xfe\xe9" + good().encode()[200:], ["line", "UTF-8"]),
    "UTF-16": (good().encode("utf-16"), ["UTF-16"]),
    "empty": ("", ["empty"]),
    "header only": (HEADER, ["row"]),
    "one row": (HEADER + "1,Ulm,2,a\n", ["row"]),
    "mixed types": (lines_with(17, "old,Ulm,12,a\n"), ["line 17", "'age'", "'old'"]),
    "a line too long": (lines_with(30, "1,Ulm,2,a,b,c\n"), ["line 30"]),
    "a line too short": (lines_with(31, "1,Ulm\n"), ["line 31"]),
    "two columns of one name": (good().replace("town", "age", 1), ["'age'"]),
    "10,000 columns": (
        ",".join(f"c{i}" for i in range(10_000)) + ",y\n" + (",".join(["1"] * 10_000) + ",a\n") * 3,
        ["10001 columns", "--drop"],
    ),
    "one class": (HEADER + "1,Ulm,2,a\n3,Bonn,4,a\n5,Kiel,6,a\n" * 10, ["'a'", "every row"]),
    "no label at all": (HEADER + "1,Ulm,2,\n3,Bonn,4,\n" * 10, ["label"]),
    "NUL bytes": (good().encode()[:100] + b"\0\0" + good().encode()[100:], ["line 7", "NUL"]),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, ["line 3", "NUL"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_training_file(folder, name):
    content, words = BAD[name]
    (folder / "train.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    check(folder, fit(folder), "train.csv", *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lines_with(5, "33,Ulm,12,zebra\n", good(60, 1)), ["line 5", "'zebra'"]),
        (lines_with(7, "33,Ulm,12,\n", good(60, 1)), ["line 7", "label"]),
        (good(60, 1).replace(",town", ",city"), ["town"]),
        (HEADER, ["row"]),
    ],
)
def test_a_bad_trusted_file(folder, content, words):
    (folder / "trusted.csv").write_text(content)
    check(folder, fit(folder), "trusted.csv", *words)


def test_duplicate_ids_are_named_with_both_lines(folder):
    frame = pd.read_csv(folder / "train.csv").assign(id=range(ROWS))
    frame.loc[9, "id"] = 3
    frame.to_csv(folder / "train.csv", index=False)
    pd.read_csv(folder / "trusted.csv").assign(id=range(900, 960)).to_csv(folder / "trusted.csv", index=False)
    check(folder, fit(folder, more=["--id", "id"]), "train.csv", "line 5", "line 11", "'3'")


def test_a_parquet_that_is_a_csv_and_the_reverse(folder):
    (folder / "train.parquet").write_text(good())
    check(folder, fit(folder, train="train.parquet"), "train.parquet", ".csv")
    pd.read_csv(folder / "train.csv").to_parquet(folder / "p.parquet")
    (folder / "train.csv").write_bytes((folder / "p.parquet").read_bytes())
    check(folder, fit(folder), "train.csv", "Parquet")


def test_paths_that_are_not_there(folder):
    check(folder, fit(folder, train="nowhere.csv"), "nowhere.csv")
    check(folder, fit(folder, trusted="nowhere.csv"), "nowhere.csv")
    check(folder, fit(folder, train="."), str(folder))


def test_a_wrong_file_for_prediction(folder, tmp_path_factory):
    assert fit(folder).exit_code == 0
    new = tmp_path_factory.mktemp("new")
    for name, content in (
        ("no town.csv", "age,income\n1,2\n"),
        ("word.csv", "age,town,income\nold,Ulm,3\n"),
        ("empty.csv", ""),
        ("bytes.csv", b"age,town,income\n1,\xff,3\n"),
    ):
        (new / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        ended = CliRunner().invoke(app, ["predict", str(folder / "out"), str(new / name)])
        assert ended.exit_code == 2, (name, ended.output, ended.exception)
        assert name in ended.stderr
        assert ended.stdout == ""
        assert len(ended.stderr.strip().splitlines()) == 1


MUTATIONS = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from(["insert", "replace", "cut"]), st.binary(min_size=1, max_size=8)),
    min_size=1,
    max_size=6,
)


def mutated(content, mutations):
    for place, how, piece in mutations:
        i = place % (len(content) + 1)
        content = content[:i] + piece + content[i + {"insert": 0, "replace": len(piece), "cut": 40}[how] :]
    return content


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "npz"])
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(mutations=MUTATIONS)
def test_never_a_traceback(tmp_path_factory, suffix, mutations):
    folder = tmp_path_factory.mktemp("fuzz")
    frame = pd.read_csv(io.StringIO(good()))
    if suffix == "jsonl":
        content = "\n".join(json.dumps(row) for row in frame.to_dict("records")).encode()
    elif suffix == "parquet":
        frame.to_parquet(folder / "g.parquet")
        content = (folder / "g.parquet").read_bytes()
    elif suffix == "npz":
        np.savez(
            folder / "g.npz",
            **{name: frame[name].to_numpy(dtype=None if name in ("age", "income") else "U9") for name in frame},
        )
        content = (folder / "g.npz").read_bytes()
    else:
        content = good().encode()
    (folder / f"train.{suffix}").write_bytes(mutated(content, mutations))
    (folder / "trusted.csv").write_text(good(60, seed=1))
    ended = fit(folder, train=f"train.{suffix}")
    assert ended.exit_code in (0, 2), (ended.output, ended.exception)
    if ended.exit_code == 2:
        assert len(ended.stderr.strip().splitlines()) == 1
        assert f"train.{suffix}" in ended.stderr or "trusted.csv" in ended.stderr
        assert not (folder / "out").exists()
    else:
        assert open_run(folder / "out").facts.label == "y"


def test_a_message_is_one_line_whatever_it_quotes():
    assert str(BadFile("a\n\x1b[31m: is bad")) == r"a\n\x1b[31m: is bad"
    assert shown("x" * 99) == "'" + "x" * 55 + "...'"
    assert listed("abcd", 2) == "'a', 'b' and 2 more"
    assert str(no_column("t.csv", "agee", ["age", "town"])).endswith("did you mean 'age'? it has 'age', 'town'")
