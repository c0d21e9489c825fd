"""What was asked of a fit, written down before it begins: a killed fit is asked again, word for word."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safegain.data.files import written
from safegain.runs.folder import FORMAT, REQUEST, RunError, read_json
from safegain.tables import Source
from safegain.tables.files import digest_of


@dataclass(frozen=True)
class Request:
    source: Source  # with absolute paths
    settings: dict[str, Any]  # the estimator's arguments, as runs/settings.py reads them
    seed: int
    image_features: str
    processes: int  # that share the fit
    command: list[str]  # arguments of `safegain` that ask the same from anywhere

    def write(self, folder: Path) -> None:
        facts = {
            "format": FORMAT,
            "command": self.command,
            "wanted": self.source.as_dict(),
            "settings": self.settings,
            "seed": self.seed,
            "image_features": self.image_features,
            "processes": self.processes,
            "files": {str(path): digest_of(path) for path in self.source.files},
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
            request = cls(
                Source.from_dict(facts["wanted"]),
                dict(facts["settings"]),
                int(facts["seed"]),
                str(facts["image_features"]),
                int(facts["processes"]),
                list(facts["command"]),
            )
            changed = changed_files(folder)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"{folder / REQUEST}: is damaged ({error!r}); fit again into another folder") from None
        if changed:
            raise RunError(f"{changed[0]}: is not the file that the fit began with; start again with `safegain fit`")
        return request


def changed_files(folder: Path) -> list[str]:
    """The files that are not what they were when the request was written."""
    digests: dict[str, str] = read_json(folder / REQUEST)["files"]
    return [path for path, digest in digests.items() if digest != digest_of(Path(path))]
