"""Rows split over processes: the same answer as one process, and a clear end when one of them dies."""

import itertools
import shutil
import time

import numpy as np
import pandas as pd
import pytest
import torch

from safegain import PGSRegressor
from safegain.bilevel.losses import CrossEntropy
from safegain.bilevel.lower import LowerLevel
from safegain.bilevel.projections import ball, budgeted_simplex_rows, capped_box
from safegain.bilevel.search_space import Point, violation
from safegain.data.checkpoint import CheckpointError
from safegain.data.labels import classification_labels, regression_labels
from safegain.data.parts import Part, Parts
from safegain.data.ranks import ALONE
from safegain.data.splits import Said
from safegain.estimators.fingerprint import name_of_run
from safegain.learners.module import Module
from tests.processes import forked
from tests.ranks_worker import CASES, fit, work
from tests.thread_ranks import in_threads


def cuts(n, size):
    """Uneven shares; the second rank has nothing."""
    ends = [0, n // 3, n // 3, *np.linspace(n // 3, n, size - 1).astype(int)[1:]]
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("n", [50, 200_000])
@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_projections_over_ranks_equal_those_of_one(n, scale):
    generator = torch.Generator().manual_seed(0)
    z = scale * torch.randn(n, dtype=torch.float64, generator=generator)
    Z = scale * torch.randn(n // 10, 4, dtype=torch.float64, generator=generator)
    given = torch.randint(4, (len(Z),), generator=generator)
    size = 3
    parts, rows = cuts(n, size), cuts(len(Z), size)
    found = in_threads(size, lambda r: capped_box(z[parts[r.rank]], least_sum=0.8 * n, ranks=r))
    torch.testing.assert_close(torch.cat(found), capped_box(z, least_sum=0.8 * n), rtol=0, atol=1e-9)
    found = in_threads(size, lambda r: budgeted_simplex_rows(Z[rows[r.rank]], given[rows[r.rank]], budget=0.2, ranks=r))
    torch.testing.assert_close(torch.cat(found), budgeted_simplex_rows(Z, given, budget=0.2), rtol=0, atol=1e-9)
    found = in_threads(size, lambda r: ball(z[parts[r.rank]], radius=3.0, ranks=r))
    torch.testing.assert_close(torch.cat(found), ball(z, radius=3.0), rtol=1e-12, atol=0)


def test_violation_over_ranks():
    w, Q = torch.tensor([0.5, 1.2, 0.1, 0.0]).double(), torch.tensor([[0.9, 0.2], [1, 0], [0.5, 0.5], [0, 1]]).double()
    given, rows = torch.tensor([0, 0, 1, 1]), [slice(0, 1), slice(1, 4)]
    cases = [(Q, 1.0, 1.0, given), (Q, 4.0, 1.0, given), (Q, 0.0, 0.05, given), (w, 0.0, 0.5, None)]
    for labels, eps1, eps2, kept in cases:

        def found(ranks, labels=labels, eps1=eps1, eps2=eps2, kept=kept):
            mine = rows[ranks.rank]
            return violation(Point(w[mine], labels[mine]), eps1, eps2, None if kept is None else kept[mine], ranks)

        assert in_threads(2, found) == [pytest.approx(violation(Point(w, labels), eps1, eps2, kept))] * 2


def test_labels_have_the_classes_and_units_of_all_ranks():
    y = np.array(["b", "a", None, "c", "b"], dtype=object)
    whole = classification_labels(y)
    parts = in_threads(2, lambda r: classification_labels(y[:2] if r.rank == 0 else y[2:], r))
    assert [part.classes.tolist() for part in parts] == [whole.classes.tolist()] * 2
    assert np.concatenate([part.numbers for part in parts]).tolist() == whole.numbers.tolist()
    y = np.array([1.0, 5.0, np.nan, 1e6, 3.0])
    whole = regression_labels(y)
    parts = in_threads(2, lambda r: regression_labels(y[:3] if r.rank == 0 else y[3:], r))
    np.testing.assert_allclose(np.concatenate([part.numbers for part in parts]), whole.numbers, rtol=1e-12)


def start(folder, size, *cases):
    return [forked(work, folder, rank, size, cases) for rank in range(size)]


def finish(processes, seconds=240):
    """With which codes they ended; None: not at all."""
    for process in processes:
        process.join(seconds)
    return [process.exitcode for process in processes]


def errors(folder):
    return {path.name: path.read_text() for path in folder.glob("*.error")}


def joined(folder, case, size):
    parts = [np.load(folder / f"{case}.{rank}.npz") for rank in range(size)]
    by_row = {key: np.concatenate([part[key] for part in parts]) for key in ("w", "Q", "corrected", "masks")}
    for key in ("theta", "reference", "compared", "status", "certificate"):
        assert all((part[key] == parts[0][key]).all() for part in parts), f"{key} differs between ranks"
        by_row[key] = parts[0][key]
    return by_row


def relative(a, b):
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-300)


@pytest.mark.parametrize(
    ("size", "cases"), [(2, [case for case in CASES if case != "few"]), (3, ["batches", "ridge", "default classes"])]
)
def test_the_result_does_not_depend_on_the_number_of_ranks(tmp_path, size, cases):
    assert finish(start(tmp_path, size, *cases)) == [0] * size, errors(tmp_path)
    for case in cases:
        found, alone = joined(tmp_path, case, size), fit(case, 0, 1)
        for key in ("w", "Q", "theta", "reference", "compared"):
            assert relative(found[key], alone[key]) <= 1e-6, (case, key)
        assert (found["masks"] == alone["masks"]).all(), case
        if case not in ("ridge", "references", "default numbers"):  # numbers, equal up to rounding
            assert (found["corrected"] == alone["corrected"]).all(), case
        assert found["status"][0].split("margin")[0] == alone["status"][0].split("margin")[0], case


def test_a_rank_that_dies_ends_the_run_and_its_checkpoint_goes_on(tmp_path):
    began = time.perf_counter()
    assert finish(start(tmp_path, 2, "dies:few")) == [1, 9], errors(tmp_path)
    assert time.perf_counter() - began < 60
    message = (tmp_path / "few.0.error").read_text()
    assert message.startswith("RankLost: rank 0 of 2: another process")
    assert "checkpoint" in message
    kept = shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    (tmp_path / "rendezvous").unlink(missing_ok=True)
    assert finish(start(tmp_path, 2, "resumes:few", "few")) == [0, 0], errors(tmp_path)
    assert not list((tmp_path / "checkpoint").glob("step*")), "a run that has ended well needs no checkpoint"
    # Two ranks again: `few` above ran without a checkpoint, after the resumed run had written the same names.
    whole = joined(tmp_path, "few", 2)
    alone = fit("few", 0, 1, checkpoint=kept)  # one process goes on where two had stopped
    assert relative(alone["w"], whole["w"]) <= 1e-6
    assert relative(alone["Q"], whole["Q"]) <= 1e-6


def test_a_default_fit_that_lost_a_rank_goes_on_from_its_evidence(tmp_path):
    assert finish(start(tmp_path, 2, "dies:default classes")) == [1, 9], errors(tmp_path)
    message = (tmp_path / "default classes.0.error").read_text()
    assert message.startswith("RankLost: rank 0 of 2: another process")
    kept = {path.name for path in (tmp_path / "checkpoint").glob("stage*")}
    assert kept == {f"stage-{name}.safetensors" for name in ("evidence-0", "evidence-1", "evidence-2", "last-evidence")}
    (tmp_path / "rendezvous").unlink(missing_ok=True)
    assert finish(start(tmp_path, 2, "resumes:default classes")) == [0, 0], errors(tmp_path)
    found, alone = joined(tmp_path, "default classes", 2), fit("default classes", 0, 1)
    for key in ("w", "Q", "theta"):
        np.testing.assert_array_equal(found[key], alone[key])


def diabetes_fit(folder, **settings):
    make, data = CASES["ridge"]
    X, y, trusted = data()
    return make().set_params(checkpoint=folder, **settings).fit(X, y, trusted=trusted)


class Killed(Exception):
    pass


def kill_at(step):
    def callback(record, _):
        if record["step"] == step:
            raise Killed

    return callback


@pytest.mark.parametrize("random_state", [0, None])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path, random_state):
    seen = []

    def watch(record, candidate):
        seen.append((record["step"], candidate))

    settings = {"random_state": random_state, "certificate": None}
    for step in (1, 4):
        with pytest.raises(Killed):
            diabetes_fit(tmp_path, search__callbacks=(watch, kill_at(step)), **settings)
    resumed = diabetes_fit(tmp_path, search__callbacks=(watch,), **settings)
    assert [step for step, _ in seen] == [0, 1, 1, 2, 3, 4, 4, 5, 6]
    assert [record["step"] for record in resumed.history_] == list(range(7))
    if random_state == 0:
        whole = diabetes_fit(None, random_state=0, certificate=None)
        assert (resumed.sample_weight_ == whole.sample_weight_).all()
        assert (resumed.label_shift_ == whole.label_shift_).all()
        assert resumed.model_.theta.equal(whole.model_.theta)
        assert str(resumed.safeness_) == str(whole.safeness_)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    with pytest.raises(Killed):
        diabetes_fit(tmp_path, search__callbacks=(kill_at(2),))
    with pytest.raises(CheckpointError, match="other search__lr_outer"):
        diabetes_fit(tmp_path, search__lr_outer=0.1)
    make, data = CASES["ridge"]
    X, y, trusted = data()
    with pytest.raises(CheckpointError, match="other rows"):
        make().set_params(checkpoint=tmp_path).fit(X, np.roll(y, 1), trusted=trusted)
    diabetes_fit(tmp_path)


def test_damaged_and_unusable_folders_are_named(tmp_path):
    with pytest.raises(Killed):
        diabetes_fit(tmp_path, search__callbacks=(kill_at(3),))
    (last,) = tmp_path.glob("step-*")
    whole = last.read_bytes()
    last.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="is damaged"):
        diabetes_fit(tmp_path)
    (tmp_path / "checkpoint.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"checkpoint\.json is damaged"):
        diabetes_fit(tmp_path)
    with pytest.raises(CheckpointError, match="cannot use"):
        diabetes_fit(tmp_path / "checkpoint.json" / "below")


def test_two_runs_do_not_share_a_folder(tmp_path):
    def inner(record, _):
        with pytest.raises(CheckpointError, match="another run is using"):
            diabetes_fit(tmp_path)
        return True

    diabetes_fit(tmp_path, search__callbacks=(inner,))


def test_one_process_says_nothing():
    assert ALONE.gather("x") == ["x"]
    assert ALONE.count(3) == 3
    part = torch.ones(2)
    assert ALONE.sum(part) is part
    assert PGSRegressor().get_params()["checkpoint"] is None


def test_a_failed_call_does_not_block_the_corrected_one(tmp_path):
    with pytest.raises(ValueError, match="eps1"):
        diabetes_fit(tmp_path, search__eps1=1e9)
    diabetes_fit(tmp_path, search__eps1=1.0)


def test_an_error_of_the_fit_stays_what_it_is(tmp_path):
    def callback(record, _):
        raise TimeoutError("the callback's own")

    with pytest.raises(TimeoutError, match="the callback's own"):
        diabetes_fit(tmp_path, search__callbacks=(callback,))


def test_a_run_is_known_by_its_rows_labels_and_groups_wherever_they_are(tmp_path):
    make, data = CASES["ridge"]
    X, y, trusted = data()
    y, groups = y * 0.1234567, np.where(np.arange(len(y)) % 2, "b", "a")

    def name(estimator, rows, ranks=ALONE, groups=groups, y=y):
        labels = regression_labels(y[rows], ranks)
        return name_of_run(estimator.get_params(deep=False), X[rows], labels, Said(trusted[rows], groups[rows]))

    whole, everything = name(make(), slice(None)), slice(None)
    parts = in_threads(3, lambda r: name(make(), cuts(len(y), 3)[r.rank], r))
    assert parts == [whole] * 3
    assert name(make(), everything, groups=groups[::-1]) != whole
    assert name(make(), everything, y=y[::-1]) != whole
    assert name(make().set_params(search__callbacks=(print,), verbose=1), everything) == whole


class View(torch.nn.Module):
    """Cannot reshape a batch without rows."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 10)

    def forward(self, X):
        return self.layer(X.view(len(X), -1))


def test_a_module_starts_alike_on_all_ranks_and_may_meet_no_rows():
    made = [View(), View(), View()]
    rows = [np.ones((2, 64)), np.ones((0, 64)), np.ones((1, 64))]

    def work(ranks):
        X = rows[ranks.rank]
        weak = Part(X, torch.zeros(len(X), dtype=torch.long))
        parts = Parts(weak, weak, None, classes=np.arange(10), ranks=ranks)
        setup = Module(made[ranks.rank]).setup(parts)
        model = setup.model
        lower = LowerLevel(model, CrossEntropy(), setup.inputs.rows(X), None, 0.0, ranks)
        theta, w, Q = model.init(torch.Generator()), torch.ones(len(X)).double(), torch.full((len(X), 10), 0.1).double()
        return theta, lower.gradient(theta, w, Q), model

    (theta, g, model), *others = in_threads(3, work)
    for other in others:
        assert torch.equal(other[0], theta)
        assert torch.equal(other[1], g)
    z, zdot, pull = model.pullback_tangent(theta, torch.ones(0, 64).double(), theta)
    assert z.shape == zdot.shape == (0, 10)
    assert torch.equal(pull(z, zdot), torch.zeros_like(theta))


def test_categories_may_be_on_another_rank():
    y = pd.Series(["a", "b", "a", "c"], dtype="category")
    parts = in_threads(2, lambda r: classification_labels(y[:2] if r.rank == 0 else y[2:], r))
    assert [part.classes.tolist() for part in parts] == [["a", "b", "c"]] * 2


def test_work_is_dealt_and_what_fails_fails_everywhere():
    done = []

    def work(some):
        done.append(len(some))
        return [each * each for each in some]

    assert in_threads(2, lambda r: r.shared_out(work, [1, 2, 3], cost=float)) == [[1, 4, 9]] * 2
    assert sorted(done) == [1, 2]  # the dearest, and the other two
    assert ALONE.shared_out(work, [1, 2]) == [1, 4]

    def failing(ranks):
        with pytest.raises(OSError, match="disk") as caught:
            ranks.together(lambda: _fails(ranks.rank))
        return str(caught.value)

    assert in_threads(2, failing) == ["rank 1 of 2: disk", "disk"]


def _fails(rank):
    if rank:
        raise OSError("disk")
