"""Folders that others have damaged: whoever reads one has one line to say, and no traceback."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors

from safegain.cli.talk import Talk
from safegain.cli.use import run_predict
from safegain.report import report_html
from safegain.runs import RunError, open_run
from safegain.runs.guard import distrusting
from safegain.runs.loading import load


def looked_at(folder, X, *, reported=True):
    """What is wrong with a folder, in one line, for whoever looks at all of it, reports it and predicts with it.

    None if nothing is. A report takes half a second: it is left out where the same one was made before.
    """

    def read():
        run = open_run(folder)
        return run.labels, run.issues, run.examples, run.neighbours, run.certificates

    def report():
        return report_html(open_run(folder))

    found = None
    for look in (read, *([report] if reported else []), lambda: load(folder).predict(X)):
        try:
            look()
        except RunError as error:
            found = str(error)
    assert found is None or "\n" not in found
    return found


def copied(folder, to):
    shutil.rmtree(to / "run", ignore_errors=True)
    return shutil.copytree(folder, to / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.clear(), r"format None\); this version reads format 3: fit again"),
        (lambda f: f.update(format=4), "install a newer Safegain"),
        (lambda f: f.update(format=True), "fit again"),
        (lambda f: f.pop("task"), r"missing required field `task`"),
        (lambda f: f.pop("rows"), "does not go with run.json"),
        (lambda f: f["verdict"].pop("outcome"), r"missing required field `outcome` - at `\$.verdict`"),
        (lambda f: f["rows"].update(all=10**30), r"Expected `int` <= 9223372036854775807 - at `\$.rows.all`"),
        (lambda f: f["rows"].update(all=10**12), "has other rows"),
        (lambda f: f.update(classes=["no", "other"]), "does not fit the run's classes"),
        (lambda f: f.update(classes=["no"]), "two or more"),
        (lambda f: f.update(classes=[0, 1]), "does not hold the classes"),
        (lambda f: f.update(task="numbers"), "numbers have no classes"),
        (lambda f: f["models"][0].update(loss="low"), r"Expected `float`, got `str` - at `\$.models\[0\].loss`"),
        (lambda f: f["estimator"]["fitted"].update(class_dtype="<U999999999"), "no type of labels"),
        (lambda f: f["estimator"]["fitted"].update(safeness={"$is": "Recipe", "with": {}}), "no SafenessReport"),
        (lambda f: f["estimator"]["fitted"].update(safeness={"$is": "os.system", "with": {}}), "KeyError"),
        (
            lambda f: f["estimator"]["parameters"].update(search={"$is": "Free", "with": {"n_outer": "x"}}),
            "n_outer must",
        ),
        (
            lambda f: f["estimator"]["parameters"].update(model={"$is": "Linear", "with": {"beta": 1}}),
            "no option 'beta'",
        ),
        (lambda f: f["estimator"]["parameters"].update(model=5), "model: must be one of"),
        (lambda f: f["estimator"]["parameters"].update(model={"$is": "Recipe", "with": {}}), "model: must be one of"),
        (lambda f: f["estimator"]["parameters"].update(search="random"), "search: must be one of"),
        (lambda f: f["estimator"]["parameters"].update(reference="mine"), "'reference' parameter"),
        (lambda f: f["estimator"].update(name="SafeRefit"), "is no PGSClassifier"),
        (lambda f: f.update(encoder={"kind": "other"}), r"missing required field `parameters` - at `\$.encoder`"),
        (lambda f: f["estimator"]["fitted"].update(n_features_in=3), "n_features_in is 3, and a model takes 4"),
        (lambda f: f["estimator"]["fitted"].update(feature_names_in=["age"]), "and 1 columns have names"),
        (lambda f: f["rows"].update(weak=-1), r"Expected `int` >= 0 - at `\$.rows.weak`"),
        (lambda f: f["versions"].update(python=3), r"Expected `str`, got `int` - at `\$.versions\[...\]`"),
    ],
)
def test_facts_that_are_wrong_have_a_message_of_their_own(saved, tmp_path, change, message):
    refused(saved("words, frame, certificate")[2], tmp_path, change, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["estimator"]["fitted"]["model"].update(sizes=[10**12, 2]), "a model takes 999999999999 columns"),
        (lambda f: f["estimator"]["fitted"]["model"].update(sizes=[5, 10**12]), "other outputs"),
        (lambda f: f["estimator"]["fitted"]["model"].update(kind="two-layer"), "does not go with run.json"),
        (lambda f: f["estimator"]["fitted"].update(n_features_in=3), "n_features_in is 3, and a model takes 4"),
    ],
)
def test_an_architecture_that_is_wrong_has_a_message_of_its_own(saved, tmp_path, change, message):
    refused(saved("free, words, frame")[2], tmp_path, change, message)


def refused(folder, tmp_path, change, message):
    shutil.copytree(folder, tmp_path / "run")
    found = json.loads((tmp_path / "run" / "run.json").read_text())
    change(found)
    (tmp_path / "run" / "run.json").write_text(json.dumps(found))
    with pytest.raises(RunError, match=message):
        load(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["encoder"]["blocks"].pop(), "TableEncoder"),
        (lambda f: f["encoder"]["blocks"][0].update(scale="x"), "scale of Number has another type"),
        (lambda f: f["encoder"]["blocks"][0].update(centre=None), "centre of Number has another type"),
        (lambda f: f["encoder"]["blocks"][0].update(gaps=False), "the encoder gives .* and the model takes"),
        (lambda f: f["encoder"]["blocks"][1].update(categories=5), "categories of Category has another type"),
        (
            lambda f: f["encoder"]["parameters"].update(kinds=5),
            r"got `int` - at `\$.encoder.parameters.kinds`",
        ),
        (lambda f: f.update(encoder=None), "its encoder does not fit its columns"),
        (lambda f: f["columns"].pop("age"), "its encoder does not fit its columns"),
        (lambda f: f["columns"].update(age="zebra"), r"Invalid enum value 'zebra' - at `\$.columns\[...\]`"),
    ],
)
def test_an_encoder_that_is_damaged_predicts_nothing(saved, tmp_path, change, message):
    _, table, folder = saved("table")
    folder = copied(folder, tmp_path)
    found = json.loads((folder / "run.json").read_text())
    change(found)
    (folder / "run.json").write_text(json.dumps(found))
    np.savez(tmp_path / "new.npz", **table)
    with pytest.raises(RunError, match=message):
        run_predict(folder, tmp_path / "new.npz", tmp_path / "out.csv", None, Talk(quiet=True))


def test_a_name_that_claims_a_trillion_parts_is_damage(saved, tmp_path):
    _, X, folder = saved("ridge")
    shutil.copytree(folder, tmp_path / "run")
    (tmp_path / "run" / "labels-1-of-999999999999.parquet").write_bytes(b"")
    assert "labels-2-of-999999999999.parquet: is missing" in looked_at(tmp_path / "run", X)


def test_a_table_with_other_columns_is_damage(saved, tmp_path):
    _, X, folder = saved("ridge")
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "labels-1-of-1.parquet"
    table = pq.read_table(path)
    for changed in (
        table.drop_columns("weight"),
        table.set_column(table.schema.get_field_index("weight"), "weight", pa.array(["x"] * 200)),
        table.set_column(table.schema.get_field_index("weight"), "weight", pa.array([None] * 200, pa.float64())),
        table.slice(1),
        pa.concat_tables([table, table]),
        table.set_column(0, "row", pa.array(np.arange(200)[::-1])),
    ):
        pq.write_table(changed, path)
        with pytest.raises(RunError):
            open_run(tmp_path / "run").labels  # noqa: B018
        looked_at(tmp_path / "run", X)
    pq.write_table(table.append_column("later", pa.array(np.arange(200))), path)
    assert looked_at(tmp_path / "run", X) is None


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


hostile = st.sampled_from([None, 0, -1, 1.0, 2.5, 10**400, -1e308, 1e308, "$\\frac", "a\nb", [], {}]) | junk


def places(value, path=()):
    """Paths to everything within a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_change_of_the_facts_is_anything_but_a_run_error(saved, tmp_path, data):
    _, X, folder = saved(data.draw(st.sampled_from(["free", "ridge", "not certified", "table"])))
    found = json.loads((folder / "run.json").read_text())
    parent, *_ = found, None
    first = data.draw(st.sampled_from(sorted(found)))  # or else most places were those of what `load` reads
    path = data.draw(st.sampled_from([path for path in places(found) if path[:1] == (first,)]))
    for key in path[:-1]:
        parent = parent[key]
    if data.draw(st.integers(0, 3)):
        parent[path[-1]] = data.draw(hostile)
    else:
        del parent[path[-1]]
    mutated = copied(folder, tmp_path)
    (mutated / "run.json").write_text(json.dumps(found))
    looked_at(mutated, X, reported=first not in ("estimator", "encoder"))


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_damage_of_the_bytes_is_anything_but_a_run_error(saved, tmp_path, data):
    _, X, folder = saved(data.draw(st.sampled_from(["free", "ridge", "recipe", "table"])))
    name = data.draw(st.sampled_from(["model.safetensors", "labels-1-of-1.parquet", "run.json"]))
    whole = (folder / name).read_bytes()
    # Most of a file is numbers, and any of them is as good as another: its structure lies at its ends.
    place = st.integers(0, len(whole) - 1) | st.integers(0, 400) | st.integers(len(whole) - 4000, len(whole) - 1)
    changed = bytearray(whole)
    for at, byte in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=4)):
        changed[at % len(changed)] = byte
    if data.draw(st.booleans()):
        del changed[data.draw(place) % len(changed) :]
    mutated = copied(folder, tmp_path)
    (mutated / name).write_bytes(bytes(changed))
    looked_at(mutated, X, reported=name != "model.safetensors")


@pytest.mark.parametrize("kind", ["recipe", "table"])
def test_arrays_of_other_shapes_and_types_are_damage(saved, tmp_path, kind):
    _, X, folder = saved(kind)
    folder = copied(folder, tmp_path)
    path = folder / "model.safetensors"
    arrays = safetensors.load_file(path)
    for name, array in arrays.items():
        for changed in (array[:-1], array.astype(np.int16), array[None]):
            path.write_bytes(safetensors.save({**arrays, name: np.ascontiguousarray(changed)}))
            looked_at(folder, X, reported=False)
        path.write_bytes(safetensors.save({key: each for key, each in arrays.items() if key != name}))
        assert looked_at(folder, X, reported=False) is not None


def test_whatever_goes_wrong_is_one_line_about_two_files(tmp_path):
    words = r"m: is damaged \(or does not go with f: KeyError: 'a'\); fit again$"
    with pytest.raises(RunError, match=words) as caught, distrusting(tmp_path / "m", "f"):
        {}["a"]
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(RunError, match=r"^as it was$"), distrusting(tmp_path / "m", "f"):
        raise RunError("as it was")
