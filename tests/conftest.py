import pytest
import torch

from tests import quick

torch.set_num_threads(1)  # tests run in several processes; two threads each would fight over the cores


@pytest.fixture(name="quick_evidence")
def _quick_evidence():
    with quick.quick_evidence():
        yield
