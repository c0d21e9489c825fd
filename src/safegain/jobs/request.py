"""What was asked of a fit, written down before it begins: a killed fit is asked again, word for word."""

import json
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from safegain.data.files import written
from safegain.runs.fact_types import MOST, Whole, told
from safegain.runs.folder import FORMAT, REQUEST, RunError, check_format, read_json, read_typed, typed
from safegain.tables import Source
from safegain.tables.files import digest_of


class Request(msgspec.Struct, frozen=True):
    """request.json."""

    source: Annotated[Source, told("files, with absolute paths, and columns by name")]
    settings: Annotated[dict[str, Any], told("arguments of the estimator, as the command line takes them")]
    seed: Whole
    image_features: str
    processes: Annotated[int, Meta(ge=1, le=MOST, description="that share the fit")]
    command: Annotated[list[str], told("arguments of `safegain` that ask the same from any folder")]
    after: Annotated[str | None, told("absolute path of an earlier run, whose tested rows stay used up")] = None
    files: Annotated[
        dict[str, str],
        told("sha256 of every table that is read, not of pictures: `safegain resume` needs the same ones"),
    ] = {}
    format: Annotated[Whole, told("3")] = FORMAT

    def write(self, folder: Path) -> None:
        """With the digests of the files as they are now."""
        digests = {str(path): digest_of(path) for path in self.source.files}
        facts = msgspec.to_builtins(msgspec.structs.replace(self, files=digests))
        with written(folder / REQUEST) as beside:
            beside.write_text(json.dumps(facts, indent=2), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The request of a fit that did not end; its files must still be what they were."""
        path = folder / REQUEST
        if not path.exists():
            raise RunError(f"{folder}: holds no run that could go on (there is no {REQUEST}); start one: safegain fit")
        found = read_json(path)
        check_format(path, found)
        request = typed(path, found, cls)
        if changed := _changed(request):
            raise RunError(f"{changed[0]}: is not the file that the fit began with; start again with `safegain fit`")
        return request


def changed_files(folder: Path) -> list[str]:
    """The files that are not what they were when the request was written."""
    return _changed(read_typed(folder / REQUEST, Request))


def _changed(request: Request) -> list[str]:
    return [path for path, digest in request.files.items() if digest != digest_of(Path(path))]
