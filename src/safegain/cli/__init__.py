"""The command line. Only `talk` prints, and nothing heavy is imported before a command needs it."""

from safegain.cli.app import app

__all__ = ["app"]
