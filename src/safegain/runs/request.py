"""What was asked of a fit, written down before it begins: a killed fit is asked again, word for word."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safegain.atomic import written
from safegain.runs.folder import FORMAT, REQUEST, RunError, read_json
from safegain.tables import Wanted


@dataclass(frozen=True)
class Request:
    wanted: Wanted  # with absolute paths
    settings: dict[str, Any]  # the estimator's arguments, as runs/settings.py reads them
    seed: int
    image_features: str
    processes: int  # that share the fit
    command: list[str]  # arguments of `safegain` that ask the same from anywhere

    def write(self, folder: Path) -> None:
        facts = {
            "format": FORMAT,
            "command": self.command,
            "wanted": self.wanted.as_dict(),
            "settings": self.settings,
            "seed": self.seed,
            "image_features": self.image_features,
            "processes": self.processes,
            "files": {str(path): _digest(path) for path in self.wanted.files},
        }
        with written(folder / REQUEST) as beside:
            beside.write_text(json.dumps(facts, indent=2), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Request":
        """The request of a fit that did not end; its files must still be what they were."""
        if not (folder / REQUEST).exists():
            raise RunError(f"{folder}: holds no run that could go on (there is no {REQUEST}); start one: safegain fit")
        facts = read_json(folder / REQUEST)
        if (version := facts.get("format")) != FORMAT:
            raise RunError(f"{folder / REQUEST}: has format {version!r}, this version reads {FORMAT}; fit again")
        try:
            files = facts["files"]
            request = cls(
                Wanted.from_dict(facts["wanted"]),
                dict(facts["settings"]),
                int(facts["seed"]),
                str(facts["image_features"]),
                int(facts["processes"]),
                list(facts["command"]),
            )
            changed = [path for path, digest in files.items() if digest != _digest(Path(path))]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{folder / REQUEST}: is damaged ({error!r}); fit again into another folder") from None
        if changed:
            raise RunError(f"{changed[0]}: is not the file that the fit began with; start again with `safegain fit`")
        return request


def _digest(path: Path) -> str:
    """sha256 of a file, or of all files of a folder in their order; of what is not there, nothing."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    total = hashlib.sha256()
    for file in files:
        if file.is_file():
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()
