"""JSON-lines files."""

from safegain.tables import json_lines, read_table
from tests.tables.samples import as_json_lines, complaint, put


def test_json_lines_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_BATCH", 3)
    rows = [{"a": i} | ({"late": f"v{i}"} if i > 4 else {}) | {"mixed": i if i % 2 else i + 0.5} for i in range(10)]
    columns = read_table(put(tmp_path / "a.jsonl", as_json_lines(rows))).columns
    for name in ("a", "late", "mixed"):
        assert columns[name].to_pylist() == [row.get(name) for row in rows]
    rows[9]["a"] = "ten"
    file = put(tmp_path / "b.jsonl", as_json_lines(rows))
    complaint(lambda: read_table(file), file, "line 10", "'a'", "'ten'", "a number")


def test_an_empty_text_is_not_what_makes_a_key_one_of_texts(tmp_path):
    file = put(tmp_path / "a.jsonl", as_json_lines([{"x": 1}, {"x": ""}, {"x": "one"}]))
    complaint(lambda: read_table(file), file, "line 3", "'one'")
