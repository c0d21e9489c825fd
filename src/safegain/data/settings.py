"""Settings as values: frozen, checked when built, and within reach of scikit-learn's `get_params` and `set_params`.

A setting that a class does not have is refused, and the message says which class has it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import wraps
from importlib import import_module
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self, TypeVar, dataclass_transform

from sklearn.base import clone

T = TypeVar("T")

_OWNERS: dict[str, list[str]] = {}  # the classes that have an option of this name, in the order of their definition


class Settings:
    """What scikit-learn asks of a nested object; `setting` makes dataclasses of its subclasses."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; with `deep` also those of settings within them, as outer__inner."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        if deep:
            for name, value in list(own.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    own |= {f"{name}__{inner}": each for inner, each in value.get_params().items()}
        return own

    def with_params(self, **values: Any) -> Self:
        """A copy with other values; outer__inner reaches into settings within."""
        mine: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            outer, within, inner = name.partition("__")
            if within:
                nested.setdefault(outer, {})[inner] = value
            else:
                mine[name] = value
        if unknown := (mine.keys() | nested.keys()) - {field.name for field in fields(self)}:  # type: ignore[arg-type]
            raise ValueError(misplaced(type(self).__name__, min(unknown)))
        for name, inner_values in nested.items():
            before = mine.get(name, getattr(self, name))
            mine[name] = changed(name, clone(before, safe=False), inner_values)  # an estimator would change in place
        return replace(self, **mine)  # type: ignore[type-var]


def changed(name: str, value: Any, params: dict[str, Any]) -> Any:
    """An object with other params: a copy of settings; another object, such as an estimator, is asked to change."""
    if isinstance(value, Settings):
        return value.with_params(**params)
    if not hasattr(value, "set_params"):
        raise ValueError(
            f"{name}: is {value!r}, so there is no {name}__{min(params)} to set; give an object that has this setting"
        )
    return value.set_params(**params)


@dataclass_transform(frozen_default=True)
def setting(cls: type[T]) -> type[T]:
    """A frozen dataclass whose constructor says where an option that it does not have belongs."""
    made = dataclass(frozen=True)(cls)
    owns(made.__name__, [field.name for field in fields(made)])  # type: ignore[arg-type]
    made.__init__ = refusing_misplaced(made.__init__)  # type: ignore[method-assign]
    return made


def owns(owner: str, options: Iterable[str]) -> None:
    """From now on, whoever is given one of these options by mistake points to their owner."""
    for option in options:
        _OWNERS.setdefault(option, []).append(owner)


def refusing_misplaced(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that names the owner of an option that is not its own."""
    names = signature(init).parameters.keys()

    @wraps(init)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        if unknown := sorted(options.keys() - names):
            raise TypeError(misplaced(type(self).__name__, unknown[0]))
        init(self, *args, **options)

    return checked


def misplaced(name: str, option: str) -> str:
    """What to say of an option that the class of this name does not have."""
    package = import_module(__package__.partition(".")[0])
    for public in package.__all__:  # an owner is known once its module is imported
        getattr(package, public)
    owners = sorted(owner for owner in set(_OWNERS.get(option, ())) if owner != name)
    where = f"it is an option of {' and '.join(owners)}" if owners else "no search or learner has one of that name"
    return f"{name} takes no option {option!r}; {where}"


def check(owner: object, field: str, rule: str, holds: bool) -> None:
    """A ValueError that names the class, the field and what was found, unless the rule holds."""
    if not holds:
        raise ValueError(f"{type(owner).__name__}: {field} must {rule}, got {getattr(owner, field)!r}")


def is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_share(value: Any) -> bool:
    """In [0, 1)."""
    return is_number(value) and 0 <= value < 1
