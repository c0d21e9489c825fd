import io
import math
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from safegain.data import digest
from safegain.data.any_rows import AnyRows
from safegain.data.digest import BLOCK_VALUES, CHANCE, among, clusters, digests, exact_digests, repeated
from safegain.data.rows import ArrayRows
from safegain.datasets import load_regression, load_table
from safegain.datasets.files import search_folders

SETS = {  # with the share of their rows that repeat others
    "letter": load_table,  # 11%
    "spambase": load_table,  # 13%
    "phoneme": load_table,  # 4%
    "banana": load_table,  # 0.3%
    "pendigits": load_table,  # none
    "concrete": load_regression,  # 11%
    "abalone": load_regression,  # none
}


def alike(D, E):
    """Row by row."""
    return (D == E).any(axis=1)


def through_csv(X, form="%.6g"):
    file = io.StringIO()
    pd.DataFrame(X).to_csv(file, index=False, float_format=form)
    file.seek(0)
    return pd.read_csv(file).to_numpy(dtype=float)


def of_categories(numbers):
    """Digests of rows that agree where these numbers do."""
    return np.column_stack([numbers, numbers]).astype(np.uint64)


def test_digests_tell_rows_of_small_whole_numbers_apart_and_not_their_storage():
    grid = np.stack(np.meshgrid(*[np.arange(9.0) - 4] * 5), axis=-1).reshape(-1, 5)
    found = digests(grid)
    assert (found.shape, found.dtype) == ((len(grid), 2), np.uint64)
    assert [len(np.unique(column)) for column in found.T] == [len(grid)] * 2
    for same in (
        grid.astype(np.float32),
        grid.astype(np.int8),
        np.asfortranarray(grid),
        scipy.sparse.csr_array(grid),
        scipy.sparse.csc_matrix(grid),
        np.where(grid == 0, -0.0, grid),
        grid.reshape(-1, 5, 1),
        ArrayRows(grid),
    ):
        np.testing.assert_array_equal(digests(same), found)
    assert digests(grid[:0]).shape == digests(scipy.sparse.csr_array(grid[:0])).shape == (0, 2)


def described(row, shift):
    """A digest as docs/run-format.md describes it, in whole numbers and exact decimals."""

    def m(u):
        for _ in range(2):
            u = (u ^ u >> 32) * 0xD6E8FEB86659FD93 % 2**64
        return u ^ u >> 32

    def cell(x):
        x = Decimal(x)
        if not x:
            return 0
        e = x.adjusted()
        return 2 * (9000 * (e + 301) + math.floor(1000 * abs(x).scaleb(-e) + Decimal(shift))) + (x < 0)

    return m(sum(m(cell(x)) * (m(j) | 1) for j, x in enumerate(row, 1)) % 2**64)


def test_digests_are_those_that_the_run_format_describes():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4)) * 10.0 ** random.integers(-40, 40, (200, 4)) * (random.random((200, 4)) < 0.8)
    expected = [[described(row, shift) for shift in ("0.545", "0.045")] for row in X.tolist()]
    assert digests(X).tolist() == expected


def test_a_sparse_array_with_zeros_and_several_parts_of_a_value_is_left_as_it_is():
    parts = (np.array([1.0, 2.0, 0.0, 5.0]), np.array([1, 1, 0, 2]), np.array([0, 3, 3, 4]))
    X = scipy.sparse.csr_array(parts, shape=(3, 3))
    found = digests(X)
    np.testing.assert_array_equal(found, digests(np.array([[0.0, 3, 0], [0, 0, 0], [0, 0, 5]])))
    assert X.data.tolist() == [1, 2, 0, 5]


def test_the_length_of_a_block_makes_no_difference(monkeypatch):
    X = np.random.default_rng(0).normal(size=(BLOCK_VALUES // 6 + 9, 7))
    X.flags.writeable = False
    expected = digests(X)
    for values in (1, 100, X.size):
        monkeypatch.setattr(digest, "BLOCK_VALUES", values)
        np.testing.assert_array_equal(digests(X[-500:]), expected[-500:])


def test_single_and_double_precision_agree():
    random = np.random.default_rng(0)
    short = random.integers(-999_999, 999_999, (2000, 20)) / 10.0 ** random.integers(-3, 9, (2000, 20))
    np.testing.assert_array_equal(digests(short.astype(np.float32)), digests(short))
    X = random.normal(size=(2000, 20))
    assert alike(digests(X.astype(np.float32)), digests(X)).all()


def test_odd_values_have_cells_of_their_own():
    tiny, huge = np.nextafter(0, 1), np.finfo(float).max
    values = np.array([0.0, 1, -1, np.nan, np.inf, -np.inf, 1e-299, -1e-299, huge, -huge, 1e-20, 123, -123])
    with np.errstate(all="raise"):
        found = digests(values[:, None])
    assert [len(np.unique(column)) for column in found.T] == [len(values)] * 2
    same = np.array([-0.0, 1, -1, -np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(digests(same[:, None]), found[:6])
    np.testing.assert_array_equal(digests(np.array([[tiny], [-tiny]])), found[[0, 0]])
    assert len(clusters(digests(np.array([[np.nan, 1], [1, np.nan], [np.nan, np.nan]])))) == 3


def test_powers_of_ten_lie_within_a_cell_and_neighbours_of_four_digits_do_not_share_it():
    tens = np.array([float(f"1e{k}") for k in range(-299, 309)])[:, None]
    found = digests(tens)
    for close in (np.nextafter(tens, 0), np.nextafter(tens, np.inf), tens * (1 - 4e-6), tens * (1 + 4e-5)):
        np.testing.assert_array_equal(digests(close), found)
    for other in (0.9999 * tens, 0.999 * tens, 1.001 * tens[:-1], -tens):
        assert not alike(digests(other), found[: len(other)]).any()


@pytest.mark.parametrize(("d", "n", "least"), [(5, 4000, 0.99), (20, 2000, 0.99), (200, 1000, 0.99), (784, 500, 0.95)])
def test_rows_are_alike_after_rounding(d, n, least):
    random = np.random.default_rng(d)
    X = random.normal(size=(n, d))
    X[0, 0], X[1, :2] = 9.9999996, (-0.99999951, 1e-7)
    found = digests(X)
    np.testing.assert_array_equal(digests(X.copy()), found)
    rounded = through_csv(X)
    assert (rounded != X).mean() > 0.9
    assert alike(digests(rounded), found).all()  # six digits take no value over the edge of a cell
    unit = 10.0 ** (np.floor(np.log10(np.abs(X))) - 5)  # of the sixth digit
    moved = X + unit * random.uniform(-0.5, 0.5, X.shape)
    assert alike(digests(moved), found).mean() >= least
    if d == 20:
        assert alike(digests(through_csv(X, "%.5g")), found).mean() >= least


def test_unrelated_rows_are_not_alike():
    random = np.random.default_rng(0)
    for draw in (random.normal, random.uniform):
        new, known = digests(draw(size=(10_000, 4))), digests(draw(size=(10_000, 4)))
        assert not among(new, known).any()
        assert len(np.unique(clusters(np.concatenate([new, known])))) == 20_000


def joined_one_by_one(D):
    """The partition of union-find, each row named by the first of its own."""
    first = list(range(len(D)))

    def root(i):
        return i if first[i] == i else root(first[i])

    for i, j in combinations(range(len(D)), 2):
        if (D[i] == D[j]).any():
            first[max(root(i), root(j))] = min(root(i), root(j))
    return [root(i) for i in range(len(D))]


@pytest.mark.parametrize("values", [5, 40, 80, 1000])
def test_clusters_are_those_of_union_find(values):
    D = np.random.default_rng(values).integers(0, values, (60, 2)).astype(np.uint64)
    found, expected = clusters(D), joined_one_by_one(D)
    assert set(found) == set(range(len(set(expected))))
    assert len(set(zip(found, expected, strict=True))) == len(set(expected)) == len(set(found))
    assert len(clusters(D[:0])) == 0


def test_a_row_is_among_others_if_one_of_its_digests_is():
    new, known = (np.random.default_rng(seed).integers(0, 90, (40, 2)).astype(np.uint64) for seed in (0, 1))
    expected = [any((row == other).any() for other in known) for row in new]
    assert among(new, known).tolist() == expected
    assert 0 < sum(expected) < 40
    assert not among(new, known[:0]).any()
    assert among(known[:0], new).shape == (0,)


@pytest.mark.parametrize("kinds", [9, 1500, 6000, 40_000])  # 100%, 40-50%, 20-30%, 10% of them are like known ones
@pytest.mark.parametrize(("m", "n"), [(300, 600), (900, 300)])
def test_honest_rows_of_categories_are_hardly_ever_refused(kinds, m, n, monkeypatch):
    random = np.random.default_rng(kinds + m)
    share = np.arange(1, kinds + 1) ** -0.7
    refusals = [0, 0]
    for _ in range(250):
        D = of_categories(random.choice(kinds, m + n, p=share / share.sum()))
        monkeypatch.setattr(digest, "CHANCE", 0.01)  # at the real one, a test that is ten times too strict would pass
        if repeated(D[:m], D[m:]):
            monkeypatch.setattr(digest, "CHANCE", CHANCE)
            refusals[0] += 1
            refusals[1] += bool(repeated(D[:m], D[m:]))
    assert refusals[0] <= 8  # of 2.5 at most; more is less likely than 1 in 1,000
    assert refusals[1] == 0


@pytest.mark.parametrize("kinds", [3000, 20_000, 10**6])
def test_rows_of_the_fit_are_refused(kinds):
    share = np.arange(1, kinds + 1) ** -0.7
    drawn = np.random.default_rng(0).choice(kinds, 3000, p=share / share.sum())
    known, fresh = of_categories(drawn).reshape(2, 1500, 2)
    assert repeated(known, known) == list(range(1500))
    assert repeated(known[:150], known) == list(range(150))
    mixed = np.concatenate([known[:750], fresh[:750]])
    assert repeated(mixed, known) == np.flatnonzero(among(mixed, known)).tolist()
    assert repeated(fresh, known) == []


def test_few_rows_prove_nothing_and_no_rows_nothing_at_all():
    D = of_categories(np.arange(1000))
    for n_copies, refused in ((1, False), (16, False), (17, True)):
        new = np.concatenate([D[:n_copies], D[500 + n_copies :]])
        assert bool(repeated(new, D[:500])) == refused
    assert repeated(D[:2], D) == []
    assert repeated(D[:4], D) == [0, 1, 2, 3]
    assert repeated(D, D[:0]) == repeated(D[:0], D) == []


def test_a_fit_with_each_row_twice():
    D = of_categories(np.arange(1000))
    known, fresh = np.concatenate([D[:500], D[:500]]), D[500:]
    assert repeated(fresh, known) == []
    assert repeated(D[:500], known) == list(range(500))
    assert repeated(known, known) == list(range(1000))
    assert repeated(np.concatenate([fresh, D[:250]]), known) == []


@pytest.mark.parametrize("name", SETS)
def test_random_parts_of_real_rows_are_fresh_to_each_other_and_copies_are_not(name):
    if not any(folder.joinpath(f"{name}.csv{end}").is_file() for folder in search_folders() for end in ("", ".gz")):
        pytest.skip(f"{name} was not found: SAFEGAIN_DATA names the folder with the data sets")
    X = SETS[name](name).data
    D, random = digests(X), np.random.default_rng(0)
    for share in (0.1, 0.5, 0.9):
        m = int(share * len(D))
        for _ in range(10):
            order = random.permutation(len(D))
            assert repeated(D[order[:m]], D[order[m:]]) == []
    new, known = np.array_split(order, 2)
    rounded = digests(through_csv(X[known]))
    assert repeated(rounded, D[known]) == list(range(len(known)))
    half = np.concatenate([rounded[::2], D[new[::2]]])
    assert set(range(len(rounded[::2]))) <= set(repeated(half, D[known]))


def test_rows_of_any_kind_have_digests():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for same in (X.tolist(), pd.DataFrame(X), torch.from_numpy(X), AnyRows.of(X), AnyRows.of(pd.DataFrame(X))):
        np.testing.assert_array_equal(digests(same), digests(X))
    ragged = [[1, 2], [3], [1, 2], [2, 1]]
    first, second, third, fourth = clusters(digests(ragged))
    assert first == third
    assert len({first, second, fourth}) == 3


def test_case_and_spaces_of_texts_do_not_count():
    texts = [f"Mail {i} of a user" for i in range(300)]
    changed = [f"  mail\t{i} OF a  user\n" for i in range(300)]
    np.testing.assert_array_equal(digests(changed), digests(texts))
    assert len(np.unique(clusters(digests(texts)))) == 300
    frame = pd.DataFrame({"text": texts, "size": np.arange(300.0), "kind": pd.Categorical(["a", "b", None] * 100)})
    other = frame.assign(text=changed)
    np.testing.assert_array_equal(digests(other), digests(frame))
    assert not alike(digests(frame.assign(kind=["c"] * 300)), digests(frame)).any()
    assert not among(digests(frame.assign(size=frame["size"] + 1000)), digests(frame)).any()


@pytest.mark.parametrize(
    ("column", "other"),
    [
        (np.arange(50.0), np.arange(50.0).astype(object)),
        (np.arange(50), pd.Categorical(np.arange(50))),
        (np.array(["a", "b"] * 25), pd.Categorical(["a", "b"] * 25)),
        (np.arange(50) % 2 == 0, (np.arange(50) % 2 == 0).astype(object)),
        (pd.date_range("2026-01-01", periods=50, unit="ns"), pd.date_range("2026-01-01", periods=50, unit="s")),
    ],
    ids=["objects", "categories of numbers", "categories", "booleans", "dates"],
)
def test_the_type_of_a_column_does_not_count(column, other):
    frames = [pd.DataFrame({"x": each, "y": np.arange(50.0)}) for each in (column, other)]
    np.testing.assert_array_equal(*map(digests, frames))
    gap = frames[0].astype({"x": object})
    gap.loc[3, "x"] = None
    assert (digests(gap) != digests(frames[0])).any(axis=1).tolist() == [row == 3 for row in range(50)]


def test_an_array_of_objects_is_one_of_numbers():
    X = np.random.default_rng(0).normal(size=(40, 3))
    np.testing.assert_array_equal(digests(X.astype(object)), digests(X))


def test_dates_are_not_rounded_and_may_lie_far_off():
    hours = pd.DataFrame({"at": pd.date_range("2026-01-01", periods=500, freq="h"), "kind": np.arange(500) % 3})
    assert len(np.unique(clusters(digests(hours)))) == 500
    far = pd.DataFrame({"at": np.array(["9999-12-31", "2026-01-01"], "datetime64[us]")})
    assert len(np.unique(clusters(digests(far)))) == 2
    gaps = pd.DataFrame({"x": pd.Categorical([1, 2, np.nan])})
    np.testing.assert_array_equal(digests(gaps), digests(pd.DataFrame({"x": [1.0, 2.0, np.nan]})))


def test_exact_digests_tell_rows_apart_that_are_alike():
    X = np.random.default_rng(0).normal(size=(50, 4))
    near = X * (1 + 1e-9)
    assert alike(digests(near), digests(X)).all()
    assert not np.isin(exact_digests(near), exact_digests(X)).any()
    np.testing.assert_array_equal(exact_digests(scipy.sparse.csr_array(X)), exact_digests(X))
    np.testing.assert_array_equal(exact_digests(-np.zeros((2, 3))), exact_digests(np.zeros((2, 3))))
