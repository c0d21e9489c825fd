"""A test by disagreements on the disk: labels are added, and lead to the certificate that Python finds."""

import contextlib
import json
import sqlite3
import threading

import numpy as np
import pytest

from safegain import Claims
from safegain.certificates.fresh import Fresh
from safegain.certificates.ledger import NO_ROWS, About
from safegain.certificates.stream import CANNOT_TELL, Disagreements
from safegain.runs.added_only import StoreError
from safegain.runs.folder import RunError, certificate_path, open_run
from safegain.runs.ledger_file import read_ledger
from safegain.runs.lock import locked
from safegain.runs.proof import NotNext, opened_proof
from safegain.runs.proof_file import read_proofs
from tests.proofs import make_proof, new_says, old_says
from tests.run_folders import CLASSES, make_run


@pytest.fixture
def folder(tmp_path):
    return make_proof(make_run(tmp_path / "run"))


@contextlib.contextmanager
def opened(folder):
    with contextlib.closing(opened_proof(open_run(folder))) as proof:
        yield proof


def label(folder, proof, *outcomes, who="tab"):
    """Labels that the new model wins (1), loses (-1), nobody wins (0), or nobody can tell (None)."""
    for outcome in outcomes:
        place = len(proof.stream.labels)
        new, old = new_says(folder, place), old_says(folder, place)
        code = {1: new, -1: old, 0: ({0, 1, 2} - {new, old}).pop()}.get(outcome)
        proof.add(place, CANNOT_TELL if code is None else CLASSES[code], who)


def test_labels_are_there_again_and_give_the_same_certificate(folder):
    outcomes = [1, 1, -1, None, 0, 1, 1]
    with opened(folder) as proof:
        label(folder, proof, *outcomes)
        sentence = proof.certificate.sentence
    with opened(folder) as proof:
        assert proof.stream.gains == [1, 1, -1, -1, 0, 1, 1]
        assert proof.certificate.sentence == sentence
        assert proof.certificate.pool.labelled == 7
        assert "1 row could not be labelled" in sentence
        arrays = proof.file.arrays
        said = [np.array(CLASSES, dtype=object)[codes] for codes in (arrays.new, arrays.old)]
        parts = {"all rows": np.ones(400, bool)}
        pool = Fresh(arrays.digests, arrays.exact, About(), arrays.once, 0, None)
        alone = Disagreements(Claims(0.04), arrays.order, *said, parts, pool, [], ("This is test 1.",), None, 0)
        for each in proof.stream.labels:
            alone.cannot_tell() if each is None else alone.answer(each)
        assert alone.certificate == proof.certificate


def test_a_label_is_for_the_next_row_and_the_same_sent_twice_counts_once(folder):
    with opened(folder) as one, opened(folder) as two:
        label(folder, one, 1)
        two.refresh()
        label(folder, two, 1, who="another")
        first, second = two.stream.labels
        one.add(1, second, "another")  # sent again: its answer was lost
        changed = next(each for each in CLASSES if each != second)
        for place, said, who in (
            (0, first, "another"),
            (1, changed, "another"),
            (3, first, "tab"),
            (-1, second, "another"),
        ):
            with pytest.raises(NotNext):
                one.add(place, said, who)
        assert one.stream.gains == two.stream.gains == [1, 1]


def test_of_many_at_once_each_row_takes_one_label(folder):
    refused = []

    def work(who):
        with opened(folder) as proof:
            for place in range(10):
                try:
                    proof.add(place, "cat", who)
                except NotNext:
                    refused.append(place)

    threads = [threading.Thread(target=work, args=(str(who),)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(folder) as proof:
        assert len(proof.stream.labels) == 10
    assert len(refused) == 30


def test_it_ends_when_it_is_certified_and_the_ledger_gives_the_level_back(folder):
    done = []
    with opened(folder) as proof:
        label(folder, proof, *[1] * 7)
        assert proof.over
        assert not proof.written
        proof.write_down(lambda: done.append(1))
        assert proof.written
        with pytest.raises(NotNext):
            label(folder, proof, 1)
    assert done == [1]
    assert read_ledger(folder, NO_ROWS).outcomes == [True]
    (stored,) = open_run(folder).certificates
    assert stored.certified
    assert stored.pool.labelled == 7
    assert stored.file == "fresh.csv"


def test_it_may_be_written_down_on_the_way_and_goes_on(folder):
    with opened(folder) as proof:
        label(folder, proof, 1, -1)
        proof.write_down(lambda: None)
        assert not open_run(folder).certificates[0].certified
        assert read_ledger(folder, NO_ROWS).outcomes == [False]
        label(folder, proof, *[1] * 9)
        assert proof.over
        assert not proof.written  # that is of two labels
        proof.write_down(lambda: None)
    assert len(open_run(folder).certificates) == 1
    assert read_ledger(folder, NO_ROWS).outcomes == [True]


def test_it_ends_where_no_row_is_left(tmp_path):
    folder = make_proof(make_run(tmp_path / "run"), differing=3)
    with opened(folder) as proof:
        label(folder, proof, 1, 1)
        assert not proof.over
        label(folder, proof, 1)
        assert proof.over
        assert not proof.stream.certified


def test_claims_of_groups_and_classes_come_with_it(tmp_path):
    folder = make_proof(make_run(tmp_path / "run"), groups=True, per_class=True)
    with opened(folder) as proof:
        label(folder, proof, *[1] * 8)
        assert not proof.over  # all rows would pass, and each of the others has too few
        names = [entry.name for entry in proof.certificate.entries]
        assert names[:3] == ["all rows", "group north", "group south"]
        assert names[3] == "class cat, where the models differ"
        wanted = sum(proof.file.arrays.groups[proof.file.arrays.order[:8]] == 0)
        assert proof.certificate.entries[1].n == wanted


def test_a_proof_that_the_ledger_does_not_know_is_added_to_it(folder):
    """It was killed between the two."""
    assert read_ledger(folder, NO_ROWS).outcomes == [False]
    assert len(read_ledger(folder, NO_ROWS).tested) == 400
    assert open_run(folder).next_number == 2


def test_nobody_else_is_at_work_while_a_certificate_is_written(folder, monkeypatch):
    monkeypatch.setattr("safegain.runs.proof.PATIENCE", 0.1)
    with opened(folder) as proof, locked(folder), pytest.raises(RunError, match="at work"):
        proof.write_down(lambda: None)
    assert not certificate_path(folder, 1).exists()


TIME = "2026-01-31T12:00:00.000+00:00"


@pytest.mark.parametrize(
    "row",
    [
        (1, '"cat"', TIME, "tab"),  # a gap before it
        (0, '"cow"', TIME, "tab"),
        (0, "1", TIME, "tab"),
        (0, "[" * 100_000, TIME, "tab"),
        (0, b"x", TIME, "tab"),
        (0, '"cat"', "yesterday", "tab"),
        (0, '"cat"', TIME, "x" * 101),
    ],
)
def test_a_label_that_somebody_made_up_is_told(folder, row):
    with opened(folder):
        pass
    with contextlib.closing(sqlite3.connect(folder / "proof-1.sqlite", isolation_level=None)) as base:
        base.execute("INSERT INTO labels (place, label, time, who) VALUES (?, ?, ?, ?)", row)
    with pytest.raises(StoreError, match=r"proof-1\.sqlite: is damaged"), opened(folder):
        pass


def test_labels_cannot_be_taken_back(folder):
    with opened(folder) as proof:
        label(folder, proof, 1)
    with contextlib.closing(sqlite3.connect(folder / "proof-1.sqlite")) as base:
        for change in ("DELETE FROM labels", "UPDATE labels SET label = NULL"):
            with pytest.raises(sqlite3.DatabaseError, match="only ever added"):
                base.execute(change)


def test_what_the_models_say_fits_the_classes(folder):
    file = read_proofs(folder)[0]
    said = json.loads((folder / "run.json").read_text())
    said["classes"] = ["cat", "dog"]
    (folder / "run.json").write_text(json.dumps(said))
    assert file.arrays.new.max() == 2
    with pytest.raises(RunError, match="what the models say does not fit"), opened(folder):
        pass
