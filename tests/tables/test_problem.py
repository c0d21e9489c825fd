"""Trusted rows: marks, files, ids and row numbers."""

import numpy as np
import pandas as pd

from safegain.tables.files import digest_of
from tests.tables.samples import as_csv, complaint, good_rows, problem, put

TRAIN = "key,x,t,g,y\n" + "".join(f"{i:03d},{i * i % 7},{'pq'[i % 2]},g{i % 3},{'ab'[i % 2]}\n" for i in range(12))


def test_a_column_of_marks(tmp_path):
    said = ["true", "False", "YES", "no", "1", "0", "", "NA", "1.0", " yes ", "No", "TRUE"]
    rows = [{"x": i * i % 7, "ok": mark, "y": "ab"[i % 2]} for i, mark in enumerate(said)]
    found = problem(put(tmp_path / "a.csv", as_csv(rows)), trusted="ok")
    assert found.trusted.tolist() == [True, False, True, False, True, False, False, False, True, True, False, True]
    assert list(found.kinds) == ["x"]
    said = ["x", "X", "✓", "Ja", "nein", "oui", "non", "si", "no", "T", "f", "WAHR", "falsch", "y", "N", ""]
    words = [{"x": i * i % 7, "ok": mark, "y": "ab"[i % 2]} for i, mark in enumerate(said)]
    found = problem(put(tmp_path / "w.csv", as_csv(words)), trusted="ok")
    assert [mark for mark, yes in zip(said, found.trusted, strict=True) if yes] == [
        *("x", "X", "✓", "Ja", "oui", "si", "T", "WAHR", "y")
    ]
    rows[4]["ok"] = "maybe"
    file = put(tmp_path / "b.csv", as_csv(rows))
    complaint(lambda: problem(file, trusted="ok"), file, "line 6", "'ok'", "'maybe'", "yes or no")
    rows[4]["ok"], rows[2]["y"] = "1", ""
    file = put(tmp_path / "c.csv", as_csv(rows))
    complaint(lambda: problem(file, trusted="ok"), file, "line 4", "'y'", "trusted")
    file = put(tmp_path / "d.csv", as_csv([row | {"ok": 0, "y": "ab"[i % 2]} for i, row in enumerate(rows)]))
    complaint(lambda: problem(file, trusted="ok"), file, "'ok'", "marks no row as trusted")
    complaint(lambda: problem(file, trusted="okay.csv"), "okay.csv", "neither a file nor a column", "'ok'")
    complaint(lambda: problem(file, trusted="y"), file, "'y'", "choose another")
    frame = pd.DataFrame(good_rows())
    frame["ok"] = [1.0, np.nan] * 6
    frame.to_parquet(tmp_path / "e.parquet")
    assert problem(tmp_path / "e.parquet", trusted="ok").trusted.tolist() == [True, False] * 6


def test_a_file_is_meant_before_a_column_and_a_column_before_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"x": i * i % 7, "ok.csv": i % 2, "y": "ab"[i % 2]} for i in range(8)]
    put(tmp_path / "a.csv", as_csv(rows))
    assert problem("a.csv", trusted="ok.csv").trusted.sum() == 4
    (tmp_path / "ok.csv").mkdir()
    assert problem("a.csv", trusted="ok.csv").trusted.sum() == 4
    (tmp_path / "ok.csv").rmdir()
    put(tmp_path / "ok.csv", as_csv(rows[:3]))
    assert problem("a.csv", trusted="ok.csv").trusted.tolist() == [False] * 8 + [True] * 3


def test_a_trusted_file_is_added_below(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "y,extra,t,x,g,key\na,1,q,2.5,g9,x\nb,1,z,,g9,y\n")
    found = problem(train, trusted=str(trusted), group="g", drop=("key",))
    assert found.table.n_rows == 14
    assert found.trusted.tolist() == [False] * 12 + [True] * 2
    assert found.y.tolist() == [*"ab" * 6, "a", "b"]
    assert found.table.columns["x"].to_pylist() == [*(float(i * i % 7) for i in range(12)), 2.5, None]
    assert found.table.columns["t"].to_pylist() == [*"pq" * 6, "q", "z"]
    assert found.groups.tolist() == [*(f"g{i % 3}" for i in range(12)), "g9", "g9"]
    assert found.ids is None
    assert found.table.place(3) == "line 5"
    assert found.table.place(13) == f"line 3 of {trusted}"
    assert found.notes[-3:] == (
        f"{trusted}: 2 trusted rows, 0 of them in the training file.",
        f"{trusted}: not used: 'extra'.",
        "Columns as numbers: x; as categories: t.",
    )


def test_trusted_rows_by_id(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "key,x,t,y\n004,9,p,b\nnew,9,p,b\n001,9,p,a\n")
    found = problem(train, trusted=str(trusted), id="key", drop=("g",))
    assert found.table.n_rows == 13
    assert np.flatnonzero(found.trusted).tolist() == [1, 4, 12]
    assert found.y[[1, 4, 12]].tolist() == ["a", "b", "b"]
    assert found.y[[0, 2, 3]].tolist() == ["a", "a", "b"]
    assert found.ids.tolist() == [*(f"{i:03d}" for i in range(12)), "new"]
    assert found.table.columns["x"].to_pylist()[4] == 16 % 7  # train's own values stay
    assert found.table.columns["x"].to_pylist()[12] == 9
    only = put(tmp_path / "only.csv", "key,y\n004,b\n")
    assert problem(train, trusted=str(only), id="key").trusted.sum() == 1
    # ids are compared as they are written, and across formats
    pd.DataFrame({"key": [4.0, 1.0], "y": ["b", "a"]}).to_parquet(tmp_path / "t.parquet")
    plain = put(tmp_path / "plain.csv", TRAIN.replace("\n0", "\n").replace("\n0", "\n"))
    assert np.flatnonzero(problem(plain, trusted=str(tmp_path / "t.parquet"), id="key").trusted).tolist() == [1, 4]


def test_checked_rows_are_found_again_by_id_in_a_sorted_table(tmp_path):
    rows = [{"key": f"k{i}", **row} for i, row in enumerate(good_rows())]
    put(tmp_path / "train.csv", as_csv(rows))
    checked = pd.DataFrame({"_row": [0, 5], "y": ["dog", "cat"], "id": ["k0", "k5"]})
    checked.assign(_file=digest_of(tmp_path / "train.csv")).to_parquet(tmp_path / "checked.parquet")
    put(tmp_path / "train.csv", as_csv(rows[::-1]))
    found = problem(tmp_path / "train.csv", id="key", checked=(str(tmp_path / "checked.parquet"),))
    assert found.ids[found.trusted].tolist() == ["k5", "k0"]
    assert found.y[found.trusted].tolist() == ["cat", "dog"]
    complaint(
        lambda: problem(tmp_path / "train.csv", checked=(str(tmp_path / "checked.parquet"),)),
        tmp_path / "checked.parquet",
        "has changed since",
        "--id",
    )
    checked.assign(id=["k0", "k99"]).to_parquet(tmp_path / "checked.parquet")
    complaint(
        lambda: problem(tmp_path / "train.csv", id="key", checked=(str(tmp_path / "checked.parquet"),)),
        tmp_path / "checked.parquet",
        "'k99' is not in",
    )


def test_rows_that_are_all_trusted_leave_nothing_to_doubt(tmp_path):
    train = put(tmp_path / "train.csv", as_csv([{**row, "ok": "yes"} for row in good_rows()]))
    complaint(lambda: problem(train, trusted="ok"), train, "all rows are trusted")


def test_trusted_rows_by_row_number(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "_row,key,x,t,g,y\n4,,,,,b\n,k,5,p,g,a\n0,,,,,b\n")
    found = problem(train, trusted=str(trusted), drop=("key",))
    assert np.flatnonzero(found.trusted).tolist() == [0, 4, 12]
    assert found.y[[0, 4, 12]].tolist() == ["b", "b", "a"]
    for content, parts in {
        "_row,y\n4,b\n12,b\n": ["line 3", "'_row'", "12", "rows 0 to 11"],
        "_row,y\n-1,b\n": ["line 2", "-1"],
        "_row,y\n1.5,b\n": ["line 2", "1.5"],
        "_row,y\nx,b\n": ["line 2", "'x' is not a number"],
        "_row,y\n4,b\n5,b\n4,a\n": ["row 4", "line 2 and in line 4"],
    }.items():
        file = put(tmp_path / "bad.csv", content)
        complaint(lambda file=file: problem(train, trusted=str(file)), file, *parts)


def test_bad_trusted_files(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    for content, parts in {
        "x,y\n1,a\n": ["lacks 't', 'g'", "--drop"],
        "x,t,g\n1,p,g\n": ["no column 'y'"],
        "x,t,g,y\n1,p,g,a\n1,p,g,\n": ["line 3", "'y'", "needs a label"],
        "x,t,g,y\n1,p,g,a\n1,p,g,c\n": ["line 3", "'c'", "'a', 'b'", "add rows of that class"],
        "x,t,g,y\n1,p,g,a\nten,p,g,b\n": ["line 3", "'x'", "'ten' is not a number"],
    }.items():
        file = put(tmp_path / "bad.csv", content)
        complaint(lambda file=file: problem(train, trusted=str(file), drop=("key",)), file, *parts)
    file = put(tmp_path / "bad.csv", "key,y\n001,a\n002,a\n001,b\n")
    complaint(lambda: problem(train, trusted=str(file), id="key"), file, "'001'", "line 2 and in line 4")
    file = put(tmp_path / "bad.csv", "id,y\n001,a\n")
    complaint(lambda: problem(train, trusted=str(file), id="key"), file, "no column 'key'")
    twice = put(tmp_path / "twice.csv", TRAIN + "003,1,p,g,a\n")
    complaint(lambda: problem(twice, id="key"), twice, "'key'", "'003'", "line 5 and in line 14")
    empty = put(tmp_path / "empty.csv", TRAIN + ",1,p,,a\n")
    complaint(lambda: problem(empty, id="key"), empty, "line 14", "'key'", "needs an id")
    complaint(lambda: problem(empty, group="g"), empty, "line 14", "'g'", "needs a group")


def test_trusted_arrays(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", v=rng.normal(size=(9, 3)), y=np.arange(9) % 2)
    np.savez(tmp_path / "b.npz", v=rng.normal(size=(2, 3)), y=np.arange(2))
    np.savez(tmp_path / "c.npz", v=rng.normal(size=(2, 4)), y=np.arange(2))
    found = problem(tmp_path / "a.npz", trusted=str(tmp_path / "b.npz"))
    assert found.table.columns["v"].shape == (11, 3)
    assert found.y.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1]
    complaint(
        lambda: problem(tmp_path / "a.npz", trusted=str(tmp_path / "c.npz")), tmp_path / "c.npz", "'v'", "(4,)", "(3,)"
    )


def test_trusted_labels_are_read_as_trains_are(tmp_path):
    """1 and 1.0 are the class 1 of whole numbers; 01 stays 01; true is True."""
    train = put(tmp_path / "a.csv", as_csv([{"x": i * i % 7, "y": i % 2} for i in range(12)]))
    trusted = put(tmp_path / "t.csv", "x,y\n1,1.0\n2,0\n")
    assert problem(train, trusted=str(trusted)).y[12:].tolist() == [1, 0]
    trusted = put(tmp_path / "t.csv", "x,y\n1,1.5\n2,0\n")
    complaint(lambda: problem(train, trusted=str(trusted)), trusted, "line 2", "1.5")
    trusted = put(tmp_path / "t.csv", "x,y\n" + "1,1\n2,0.0\n" * 20 + "1,x\n")
    complaint(
        lambda: problem(train, trusted=str(trusted)), trusted, "line 42", "the label 'x' is not a class", "'0', '1'"
    )
    trusted = put(tmp_path / "t.csv", "x,y\n1,1\n2,NA\n1,x\n")
    complaint(lambda: problem(train, trusted=str(trusted)), trusted, "line 3", "needs a label")
    pd.DataFrame({"x": [1, 2, 5, 4], "y": [True, False, False, True]}).to_parquet(tmp_path / "b.parquet")
    trusted = put(tmp_path / "t.csv", "x,y\n1,True\n2,0\n")
    assert problem(tmp_path / "b.parquet", trusted=str(trusted)).y[4:].tolist() == [True, False]


def test_both_labels_of_a_row_are_kept(tmp_path):
    train = put(tmp_path / "train.csv", TRAIN)
    trusted = put(tmp_path / "trusted.csv", "key,x,t,y\n004,9,p,b\nnew,9,p,b\n001,9,p,b\n")
    found = problem(train, trusted=str(trusted), id="key", drop=("g",))
    assert found.given.tolist() == [*"ab" * 6, None]
    assert found.y.tolist() == [*"abab", "b", *"bababab", "b"]
    assert found.sample is None
    said = found.said
    assert said["y"] is found.given
    assert {i: each for i, each in enumerate(said["right"]) if each is not None} == {1: "b", 4: "b", 12: "b"}
    # Rows that are only added, or marked, say nothing of labels before a check.
    added = problem(train, trusted=str(put(tmp_path / "new.csv", "x,t,g,y\n9,p,g,b\n")), drop=("key",))
    assert added.given is None
    assert set(added.said) == {"y", "trusted", "groups", "sample"}
    assert added.said["trusted"].tolist() == [False] * 12 + [True]


def test_numbers_keep_both_labels_too(tmp_path):
    rows = "".join(f"{i},{i * i % 7},{i / 3}\n" for i in range(30))
    train = put(tmp_path / "train.csv", "key,x,y\n" + rows)
    found = problem(train, trusted=str(put(tmp_path / "t.csv", "key,y\n3,7.5\n")), id="key", task="numbers")
    assert (found.given[3], found.y[3], found.said["right"][3]) == (1.0, 7.5, 7.5)
    assert np.isnan(found.said["right"][[0, 29]]).all()


def test_rows_of_a_review_are_a_random_sample_where_it_says_so(tmp_path):
    rows = [{"key": f"k{i}", "ok": int(i < 2), **row} for i, row in enumerate(good_rows())]
    train = put(tmp_path / "train.csv", as_csv(rows))

    def checked(name, **columns):
        pd.DataFrame({"_row": [0, 5, 6], "y": ["dog", "cat", "dog"], **columns}).to_parquet(tmp_path / name)
        return problem(train, id="key", trusted="ok", checked=(str(tmp_path / name),))

    plain = checked("plain.parquet")
    assert np.flatnonzero(plain.trusted).tolist() == [0, 1, 5, 6]
    assert np.flatnonzero(plain.sample).tolist() == [0, 1]  # what a review does not say was chosen
    given = [plain.given[row] for row in (0, 1, 5, 6)]
    assert given == [None, None, rows[5]["y"], rows[6]["y"]]  # marked rows had their label from the first
    some = checked("some.parquet", _sample=[False, True, False])
    assert np.flatnonzero(some.sample).tolist() == [0, 1, 5]
    assert any("1 of its rows are a random sample; the others put their own label right" in note for note in some.notes)
    assert checked("all.parquet", _sample=[True] * 3).sample is None
    alone = problem(train, id="key", drop=("ok",), checked=(str(tmp_path / "plain.parquet"),))
    assert not alone.sample.any()
    assert any(note.startswith("No trusted row is one of a random sample") for note in alone.notes)


def test_rows_without_a_label_beside_right_ones(tmp_path):
    """Empty cells, and -1 among whole classes; a trusted row must have a label in either writing."""
    rows = [
        {"x": i * i % 7, "ok": int(i % 4 == 0), "y": i % 3 if i % 4 == 0 else ("" if i % 2 else -1)} for i in range(40)
    ]
    found = problem(put(tmp_path / "a.csv", as_csv(rows)), trusted="ok")
    assert found.y.tolist() == [i % 3 if i % 4 == 0 else None for i in range(40)]
    assert found.trusted.sum() == 10
    assert "30 of 40 rows have no label." in found.notes
    assert any("-1 counts as no label" in note for note in found.notes)
    rows[1]["ok"] = 1
    file = put(tmp_path / "b.csv", as_csv(rows))
    complaint(lambda: problem(file, trusted="ok"), file, "line 3", "'y'", "trusted")
    rows[1]["y"] = -1
    file = put(tmp_path / "c.csv", as_csv(rows))
    complaint(lambda: problem(file, trusted="ok"), file, "line 3", "'y'", "trusted")
