"""Work beside which a process can listen: what becomes of it, and of the process."""

import time

import torch

from safegain.cli.talk import Talk, wrong_input_in_one_line
from safegain.data.devices import training_device, training_on
from safegain.data.ranks import BEAT
from safegain.data.side_thread import SideThread, leave
from tests.processes import forked


def fails():
    raise OSError("disk")


def test_a_side_thread_keeps_its_error_and_what_it_found():
    thread = SideThread(lambda: 7)
    thread.join(BEAT)
    assert (thread.ended, thread.result, thread.error) == (True, 7, None)
    thread = SideThread(fails)
    thread.join(BEAT)
    assert (thread.ended, str(thread.error)) == (True, "disk")


def test_a_side_thread_has_the_settings_of_its_maker():
    with torch.no_grad():
        thread = SideThread(torch.is_grad_enabled)
    thread.join(BEAT)
    assert thread.result is False


def leaves():
    SideThread(lambda: time.sleep(60))
    leave(3)


def stays():
    SideThread(int).join()
    leave(3)


def is_told(error):
    """On the command line, while a training goes on."""
    SideThread(lambda: time.sleep(60))
    with wrong_input_in_one_line(Talk()):
        raise error


def test_a_process_ends_without_what_nobody_waits_for():
    began, processes = time.perf_counter(), [forked(leaves), forked(stays)]
    processes += [forked(is_told, error) for error in (ValueError("wrong"), MemoryError(), KeyboardInterrupt())]
    for process in processes:
        process.join(50)
    assert [process.exitcode for process in processes] == [3, 0, 2, 2, 130]
    assert time.perf_counter() - began < 50


def test_a_side_thread_trains_on_the_device_of_its_fit():
    with training_on(torch.device("meta")):
        thread = SideThread(training_device)
    thread.join(BEAT)
    assert thread.result == torch.device("meta")
