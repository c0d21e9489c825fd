"""Evidence of classes that is quick to find, for tests that are about something else."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def quick_evidence() -> Iterator[None]:
    """Few trees and penalties, one width, one round, one kind of channel; there is a fixture of that name too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.evidence.class_heads.MOST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.LEAST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.PENALTIES", (0.1, 0.3, 1.0, 3.0))
        patch.setattr("safegain.evidence.pooled.WIDTHS", (0.5,))
        patch.setattr("safegain.evidence.pooled.ROUNDS", 1)
        patch.setattr("safegain.evidence.pooled.heard_by_trusted", lambda *_: (0.0, True))
        yield
