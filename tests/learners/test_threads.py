import threading

import torch

from safegain.learners import threads


def test_as_many_threads_as_torch_uses():
    assert threads.n_threads() == torch.get_num_threads()


def test_results_are_in_order_and_threads_are_used(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    meeting = threading.Barrier(3, timeout=30)  # passes only where three work at the same time

    def work(item):
        meeting.wait()
        return 10 * item

    assert threads.on_threads(work, range(6)) == [0, 10, 20, 30, 40, 50]
