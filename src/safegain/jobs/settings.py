"""An estimator's arguments as a command line or a TOML file can say them: text, made into objects here.

free, n_outer=50, engine=cg                        a name, then settings as TOML writes them
network, solver={name="adam", n_steps=300}         an object within: a table, whose name says which
0.05, per_class=true                               the first value without a name
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

BETWEEN_ITEMS = re.compile(r",(?![^\[{]*[\]}])")  # commas outside of lists and tables
NOT_IN_TEXT = {"workspace": "is given by --workspace", "callbacks": "are functions, which only Python can give"}


def make_estimator(task: str, settings: Mapping[str, Any], **given: Any) -> Any:
    """An estimator whose arguments have been checked; `given` are those that a command line does not ask for."""
    from safegain import PGSClassifier, PGSRegressor
    from safegain.estimators.parameters import search_of

    made: dict[str, Callable[[Any], Any]] = {
        "certificate": claims_of,
        "model": model_of,
        "search": search_from_text,
        "safeness": safeness_of,
    }
    kind = PGSRegressor if task == "numbers" else PGSClassifier
    own = {name: value for name, value in settings.items() if name != "workspace"}
    if unknown := set(own) - set(kind().get_params(deep=False)):
        raise ValueError(f"{min(unknown)}: is not an argument of {kind.__name__}")
    arguments = {name: made[name](value) if name in made else value for name, value in own.items()}
    if "workspace" in settings:
        search = search_of(arguments.get("search", "auto"))
        arguments["search"] = _object("search", search.with_params, {"workspace": settings["workspace"]})
    estimator = kind(**arguments, **given)
    estimator.check_params()
    return estimator


def claims_of(text: str) -> Any:
    from safegain import Claims

    return _object("certificate", Claims, _items(str(text), "certificate", first="delta"))


def search_from_text(text: str) -> Any:
    from safegain import Auto, Free, Residuals, Structured

    items = _items(text, "search", first="name")
    for name in items.keys() & NOT_IN_TEXT.keys():
        raise ValueError(f"search: {name} {NOT_IN_TEXT[name]}")
    if "engine" in items:
        items["engine"] = engine_of(items["engine"])
    return _named("search", {"auto": Auto, "free": Free, "structured": Structured, "residuals": Residuals}, items)


def model_of(text: str | list[str]) -> Any:
    """A learner, or the word that stands for some; a list of texts is a list of models."""
    from safegain import Boosting, DeepNetwork, Forest, Huber, KernelMachine, Linear, Network, Recipe

    if isinstance(text, list):
        return [model_of(each) for each in text]
    items = _items(text, "model", first="name")
    if "recipe" in items:
        items["recipe"] = _object("recipe", Recipe, _table("recipe", items["recipe"]))
    if "solver" in items:
        items["solver"] = solver_of(items["solver"])
    if isinstance(items.get("categorical"), list):
        items["categorical"] = tuple(items["categorical"])
    families = {"forest": Forest, "boosting": Boosting, "kernel": KernelMachine, "deep": DeepNetwork, "huber": Huber}
    known: dict[str, Callable[..., Any]] = {"auto": lambda: "auto", "network": Network, "linear": Linear, **families}
    if items.get("name") == "auto" and len(items) > 1:
        raise ValueError(f"model: auto takes no settings; name the learner instead in {text!r}")
    return _named("model", known, items)


def solver_of(value: Any) -> Any:
    """A name, or a table: newton with tol, or a rule with its own settings and those of the descent."""
    from safegain import ClosedForm, Descent, Newton
    from safegain.bilevel.settling import RULES

    if isinstance(value, str):
        return value
    items = _table("solver", value)
    if items.get("name") not in list(RULES):  # a list also looks for what has no hash
        return _named("solver", {"newton": Newton, "closed-form": ClosedForm, **RULES}, items)
    of_descent = {"n_steps", "batch_size", "memory_budget", "seed"}
    rule = _named("solver", RULES, {name: each for name, each in items.items() if name not in of_descent})
    return _object("solver", Descent, {"rule": rule, **{name: items[name] for name in items.keys() & of_descent}})


def engine_of(value: Any) -> Any:
    from safegain import Cholesky, ConjugateGradient, Neumann, Unrolled

    known = {"cholesky": Cholesky, "cg": ConjugateGradient, "neumann": Neumann, "unrolled": Unrolled}
    return value if isinstance(value, str) else _named("engine", known, _table("engine", value))


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


def _items(text: str, argument: str, *, first: str) -> dict[str, Any]:
    """From "0.05, size=200": values as TOML writes them; the one without a name is `first`."""
    found: dict[str, Any] = {}
    for item in BETWEEN_ITEMS.split(text):
        name, equals, value = item.partition("=")
        name, value = (name.strip(), value) if equals else (first, name)
        if name in found or not value.strip():
            raise ValueError(f"{argument}: cannot read {item.strip()!r} in {text!r}; write name=value, name=value")
        found[name] = _value(value.strip())
    return found


def _named(argument: str, known: Mapping[str, Callable[..., Any]], items: Mapping[str, Any]) -> Any:
    settings = dict(items)
    name = settings.pop("name", None)
    if name is None:
        raise ValueError(f"{argument}: has no name; give one of {', '.join(known)}")
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"{argument}: {name!r} is not known; give one of {', '.join(known)}")
    return _object(argument, known[name], settings)


def _object(argument: str, made: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """Made of these settings; what is wrong with them is said with the argument's name."""
    try:
        return made(**settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument}: {error}") from None


def _table(argument: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{argument}: must be a table such as {{name=value}}, got {value!r}")
    return value


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
