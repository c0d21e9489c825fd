"""The check that every settings object runs when it is built."""


def check(owner: object, field: str, rule: str, holds: bool) -> None:
    """Raise ValueError that names the class, the field and what was found, unless the rule holds."""
    if not holds:
        raise ValueError(f"{type(owner).__name__}: {field} must {rule}, got {getattr(owner, field)!r}")
