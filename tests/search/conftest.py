import pytest


@pytest.fixture(autouse=True)
def _quick(quick_evidence):
    """A file about the evidence itself has a fixture of that name that leaves it as it is."""
