"""`--config run.toml`: options under their own names. What is typed goes before what is in the file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from safegain.cli.talk import Talk, wrong_input_in_one_line


def read_config(context: typer.Context, path: Path | None) -> Path | None:
    """A callback of the option: the file's values become the defaults of all other options."""
    if path is not None:
        with wrong_input_in_one_line(Talk()):
            params = [parameter for parameter in context.command.params if parameter.name not in ("config", "help")]
            known = {str(parameter.name): bool(getattr(parameter, "multiple", False)) for parameter in params}
            context.default_map = {**(context.default_map or {}), **_options(path, known)}
    return path


def _options(path: Path, known: Mapping[str, bool]) -> dict[str, Any]:
    """Values by name; `known` says of each option whether it can be given several times, which takes a list."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is not TOML: {error}") from None
    options = {name.replace("-", "_"): value for name, value in found.items()}
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"{path}: {name!r} is not an option of this command; see --help")
        if isinstance(value, dict):
            raise ValueError(f"{path}: {name!r} is a table; write its options as name = value, one a line")
        if isinstance(value, list) and not known[name]:
            raise ValueError(f"{path}: {name!r} is a list; it takes one value")
    return {name: _listed(value) if known[name] else value for name, value in options.items()}


def command_line(context: typer.Context, paths: set[str]) -> list[str]:
    """Arguments that ask for the same from any folder, without the config file; `paths` are names of options."""
    words: list[str] = []
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if name == "config" or value in (None, (), [], parameter.default):
            continue
        values = [absolute(item) if name in paths else str(item) for item in _listed(value)]
        if parameter.param_type_name == "argument":
            words += values
        elif value is True:
            words.append(parameter.opts[0])
        else:
            words += [word for item in values for word in (parameter.opts[0], item)]
    return words


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def absolute(text: str | Path) -> str:
    """A path from here; a name that is no table here, but perhaps that of a column, stays."""
    path = Path(text)
    is_path = isinstance(text, Path) or path.is_file() or (path.is_dir() and any(path.glob("*.parquet")))
    return str(path.absolute()) if is_path else str(text)
