import pytest
import torch

torch.set_num_threads(1)  # tests run in several processes; two threads each would fight over the cores


@pytest.fixture
def quick_evidence(monkeypatch):
    """Evidence of classes that is quick to find, for tests that are about something else."""
    monkeypatch.setattr("safegain.evidence.class_heads.MOST_TREES", 10)
    monkeypatch.setattr("safegain.evidence.class_heads.LEAST_TREES", 10)
    monkeypatch.setattr("safegain.evidence.pooled.ROUNDS", 1)
