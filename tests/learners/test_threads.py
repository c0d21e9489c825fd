import threading

import numpy as np
import pytest
import torch
from threadpoolctl import ThreadpoolController

from safegain.learners import threads


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_as_many_threads_as_torch_uses():
    assert threads.n_threads() == torch.get_num_threads()


def test_results_are_in_order_and_threads_are_used(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    meeting = threading.Barrier(3, timeout=30)  # passes only where three work at the same time

    def work(item):
        meeting.wait()
        return 10 * item

    assert threads.on_threads(work, range(6)) == [0, 10, 20, 30, 40, 50]


def test_items_side_by_side_share_the_threads(two_threads):
    meeting = threading.Barrier(2, timeout=30)

    def work(item):
        meeting.wait()
        return item, torch.get_num_threads(), threads.n_threads()

    assert threads.side_by_side(work, [5, 7, 6, 8]) == [(item, 1, 1) for item in (5, 7, 6, 8)]


def test_an_item_alone_has_all_threads(two_threads):
    assert threads.side_by_side(lambda item: torch.get_num_threads(), ["alone"]) == [2]


def test_one_thread_works_where_it_is():
    here = threading.get_ident()
    assert threads.side_by_side(lambda item: threading.get_ident(), range(3)) == [here] * 3


def test_the_dearest_begin(two_threads):
    begun, lock = [], threading.Lock()

    def work(item):
        with lock:
            begun.append(item)
            first = len(begun) <= 2
        if first:
            meeting.wait()  # the other of the first two has begun
        return 10 * item

    meeting = threading.Barrier(2, timeout=30)
    assert threads.side_by_side(work, [1, 9, 2, 8], cost=float) == [10, 90, 20, 80]
    assert set(begun[:2]) == {9, 8}
    assert set(begun[2:]) == {1, 2}


def test_settings_of_threads_are_as_they_were(two_threads):
    """Those of the calling thread, and of threads that begin later."""

    def numbers():
        pools = [(pool["internal_api"], pool["num_threads"]) for pool in ThreadpoolController().info()]
        return torch.get_num_threads(), sorted(pools)

    def later():
        found = []
        thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        return found

    np.linalg.inv(np.eye(3))
    before, threads_before = numbers(), later()
    threads.side_by_side(lambda item: item, range(4))
    assert (numbers(), later()) == (before, threads_before)
    with pytest.raises(ZeroDivisionError):
        threads.side_by_side(lambda item: 1 / item, [1, 0, 2])
    assert (numbers(), later()) == (before, threads_before)


def test_after_an_error_the_others_do_not_begin(two_threads):
    begun = []
    gate = threading.Event()

    def work(item):
        begun.append(item)
        if item == 0:
            gate.set()
            raise ValueError("the first")
        gate.wait(30)
        threading.Event().wait(0.3)  # while this one works, the error is seen

    with pytest.raises(ValueError, match="the first"):
        threads.side_by_side(work, range(20))
    assert len(begun) < 5
