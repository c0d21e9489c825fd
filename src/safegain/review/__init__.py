"""A local page over a run folder: a person looks at suspicious labels and decides. Nothing leaves the machine."""

from safegain.review.app import create_app
from safegain.review.imports import import_decisions
from safegain.review.server import serve

__all__ = ["create_app", "import_decisions", "serve"]
