"""Evidence that is quick to find, for tests that are about something else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from safegain.evidence.class_heads import FORESTS

ROOT = Path(__file__).parents[1]
COMMAND = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.quick import main; main()"  # for python -c


@contextmanager
def quick_evidence() -> Iterator[None]:
    """Few trees and penalties, one forest, width, round and kind of channel; there is a fixture of that name too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("safegain.evidence.class_heads.MOST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.LEAST_TREES", 10)
        patch.setattr("safegain.evidence.class_heads.PENALTIES", (0.3, 3.0))
        patch.setattr("safegain.evidence.pooled.FORESTS", FORESTS[:1])
        patch.setattr("safegain.evidence.pooled._best_width", lambda *_: 0.5)
        patch.setattr("safegain.evidence.pooled.ROUNDS", 1)
        patch.setattr("safegain.evidence.pooled.heard_by_trusted", lambda *_: (0.0, True))
        patch.setattr("safegain.evidence.number_heads.MOST_TREES", 10)
        patch.setattr("safegain.evidence.number_heads.LEAST_TREES", 10)
        patch.setattr("safegain.evidence.number_heads.WIDTHS", (2.0,))
        patch.setattr("safegain.evidence.number_heads.PENALTIES", (0.1, 1.0))
        patch.setattr("safegain.evidence.number_heads.STEPS", 10)
        patch.setattr("safegain.evidence.number_evidence.ROUNDS", 1)
        patch.setattr("safegain.evidence.errors.FIRST_STEPS", 5)
        patch.setattr("safegain.evidence.errors.STEPS", 10)
        yield


def main() -> None:
    """`safegain`, with quick evidence."""
    from safegain.cli import app

    with quick_evidence():
        app(prog_name="safegain")
