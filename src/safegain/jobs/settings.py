"""An estimator's arguments as a command line or a TOML file can say them: text and numbers, made into objects here."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")

BETWEEN_ITEMS = re.compile(r",(?![^\[{]*[\]}])")  # commas outside of lists and tables


def make_estimator(task: str, settings: Mapping[str, Any], **given: Any) -> Any:
    """An estimator whose arguments have been checked; `given` are those that a command line does not ask for."""
    from safegain import Certify, PGSClassifier, PGSRegressor, Recipe

    made: dict[str, Callable[[Any], Any]] = {
        "certify": lambda text: dataclass_of(Certify, text, "certify", first="delta"),
        "recipe": lambda text: dataclass_of(Recipe, text, "recipe"),
        "safeness": safeness_of,
    }
    kind = PGSRegressor if task == "numbers" else PGSClassifier
    if unknown := set(settings) - set(kind().get_params()):
        raise ValueError(f"{min(unknown)}: is not an argument of {kind.__name__}")
    arguments = {name: made[name](value) if name in made else value for name, value in settings.items()}
    estimator = kind(**arguments, **given)
    estimator._validate_params()
    return estimator


def dataclass_of(cls: Callable[..., T], text: str, argument: str, first: str | None = None) -> T:
    """From "0.05, size=200": values as TOML writes them; the one without a name is `first`."""
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    text = str(text)
    found: dict[str, Any] = {}
    for item in BETWEEN_ITEMS.split(text):
        name, equals, value = item.partition("=")
        name, value = (name.strip(), value) if equals else (first or "", name)
        if name not in names:
            raise ValueError(
                f"{argument}: cannot read {item.strip()!r}; give name=value with a name of {', '.join(names)}"
            )
        found[name] = _value(value.strip())
    try:
        return cls(**found)
    except TypeError as error:
        raise ValueError(f"{argument}: cannot read {text!r}: {error}") from None


def safeness_of(text: str) -> Any:
    """From "per-class + bootstrap:5 + measures:log_loss,brier"."""
    from safegain import Bootstrap, MultiMeasure, PerClass, PerGroup

    known: dict[str, Callable[[str], Any]] = {
        "bootstrap": lambda m: Bootstrap(int(m or 3)),
        "per-class": lambda names: PerClass([_value(name) for name in names.split(",")] if names else None),
        "per-group": lambda _: PerGroup(),
        "measures": lambda names: MultiMeasure(*(name.strip() for name in names.split(",") if name)),
    }
    parts = []
    for item in text.split("+"):
        name, _, rest = item.strip().partition(":")
        if name not in known:
            raise ValueError(f"safeness: {name!r} is not known; join some of {', '.join(known)} by +")
        try:
            parts.append(known[name](rest))
        except ValueError as error:
            raise ValueError(f"safeness: cannot read {item.strip()!r}: {error}") from None
    return sum(parts[1:], start=parts[0])


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
