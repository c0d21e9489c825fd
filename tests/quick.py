"""Evidence of classes that is quick to find, for tests that are about something else."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def quick_evidence() -> Iterator[None]:
    """Few trees and one round; there is a fixture of that name too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.evidence.class_heads.MOST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.LEAST_TREES", 10)
        patch.setattr("safegain.evidence.pooled.ROUNDS", 1)
        yield
