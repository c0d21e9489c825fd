"""What each column is to a model."""

import re

import numpy as np

from safegain.tables.kinds import kinds_said
from tests.tables.samples import as_csv, complaint, problem, put


def kinds_of(tmp_path, columns, **named):
    n = len(next(iter(columns.values())))
    put(tmp_path / "k.csv", as_csv([{**{k: v[i] for k, v in columns.items()}, "y": "ab"[i % 2]} for i in range(n)]))
    return problem(tmp_path / "k.csv", **named)


def test_kinds(tmp_path):
    n = 200
    words = ["the", "of", "a", "house", "river", "stone", "light", "under", "every", "small", "never", "again", "green"]
    rng = np.random.default_rng(0)
    columns = {
        "number": [i * i for i in range(n)],
        "few": [f"c{i % 7}" for i in range(n)],
        "flag": [str(i % 2 == 0).lower() for i in range(n)],
        "mark": ["x" if i % 3 else "" for i in range(n)],
        "picture": [f"images/{i}.{'PNG' if i % 2 else 'jpeg'}" for i in range(n)],
        "prose": [" ".join(rng.choice(words, 8)) for _ in range(n)],
        "city": [f"town-{i % 80}" for i in range(n)],
        "name": [f"person{i}" for i in range(n)],
        "same": ["z"] * n,
        "nothing": [""] * n,
        "one": [5] * n,
        "": list(range(n)),
    }
    found = kinds_of(tmp_path, columns)
    assert found.kinds == {
        "number": "number",
        "few": "category",
        "flag": "category",
        "mark": "category",
        "picture": "image",
        "prose": "text",
        "city": "text",
    }
    left_out = " ".join(found.notes)
    for name, why in {
        "name": "name or an id",
        "same": "same in every row",
        "one": "same in every row",
        "nothing": "empty",
        "column 12": "count the rows",
    }.items():
        assert re.search(rf"Left out: [^.]*'{name}'[^.]*: [^:]*{why}", left_out), left_out


def test_short_texts_are_used_if_nothing_else_is(tmp_path):
    found = kinds_of(tmp_path, {"name": [f"person{i}" for i in range(60)], "same": ["z"] * 60})
    assert found.kinds == {"name": "text"}


def test_digits_with_leading_zeros_are_names(tmp_path):
    n = 200
    columns = {
        "zip": [f"0{i * 7 % 90 + 1000}" if i % 3 else f"{i % 9 + 10000}" for i in range(n)],
        "member": [f"{i * 7:06d}" for i in range(n)],
        "amount": [f"{i * i % 101}" if i % 3 else "007" for i in range(n)],
        "x": [i * i for i in range(n)],
        "share": [f"0.{i:03d}" for i in range(n)],
        "zero": [0 if i % 4 else 7 for i in range(n)],
        "seldom": ["" if i % 9 else f"0{i % 5}" for i in range(n)],
    }
    found = kinds_of(tmp_path, columns)
    assert found.kinds == {
        "zip": "category",
        "amount": "number",
        "x": "number",
        "share": "number",
        "zero": "number",
        "seldom": "category",
    }
    assert found.table.columns["zip"].to_pylist() == columns["zip"]
    assert any("Left out: 'member'" in note for note in found.notes)
    assert kinds_of(tmp_path, columns, kinds={"zip": "number"}).table.columns["zip"][1].as_py() == 1007


def test_a_note_says_how_columns_were_taken(tmp_path):
    columns = {f"x{i}": [k * k % (7 + i) for k in range(30)] for i in range(64)}
    columns |= {"a\x1b": ["pq"[k % 2] for k in range(30)], "comment": [f"w{k} so it is {k}" for k in range(30)]}
    last = kinds_of(tmp_path, columns).notes[-1]
    assert last == ("Columns as numbers: x0, x1, x2, x3, x4, x5 and 58 more; as categories: a\\x1b; as text: comment.")


def test_kinds_that_are_asked_for(tmp_path):
    columns = {
        "zip": [f"0{i % 9}" for i in range(40)],
        "name": [f"p{i}" for i in range(40)],
        "x": list(range(40, 0, -1)),
    }
    found = kinds_of(tmp_path, columns, kinds={"zip": "category", "name": "text"}, drop=("x",))
    assert found.kinds == {"zip": "category", "name": "text"}
    assert found.table.columns["zip"].to_pylist()[:2] == ["00", "01"]
    file = tmp_path / "k.csv"
    complaint(lambda: problem(file, kinds={"name": "number"}), file, "line 2", "'name'", "'p0' is not a number")
    complaint(lambda: problem(file, kinds={"x": "array"}), file, "'x'", "not an array")
    complaint(lambda: problem(file, kinds={"names": "text"}), file, "no column 'names'", "did you mean 'name'")
    complaint(lambda: problem(file, drop=("nam",)), file, "no column 'nam'", "did you mean 'name'")
    complaint(lambda: problem(file, label="naem"), file, "no column 'naem'", "did you mean 'name'")


def test_dropped_columns_do_not_count(tmp_path):
    names = [f"c{i}" for i in range(4100)]
    rows = [{name: (i * 7 + k) % 5 for k, name in enumerate(names)} | {"y": "ab"[i % 2]} for i in range(9)]
    file = put(tmp_path / "a.csv", as_csv(rows))
    complaint(lambda: problem(file), file, "4101 columns")
    assert len(problem(file, drop=tuple(names[:100])).kinds) == 4000


def test_kinds_in_words():
    assert kinds_said({"a": "number", "b": "text", "c": "number"}) == "Columns as numbers: a, c; as text: b."
