"""Behaviour checks as their owner declares them: validate and parse."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from concord.metrics_core.conventions.convention import format_value, is_number
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import Problem, SettingNames, raise_problems, refuse
from concord.metrics_core.metrics.label import MAX_K

Conditions = Mapping[str, Sequence[Any]]  # column -> values, any of which meets the condition


@dataclass(frozen=True)
class Check:
    """A condition that the lists of all models must meet.

    Attributes
    ----------
    kind : {'never', 'overlap'}
        `never`: no list of these users holds one of these items. `overlap`: lists keep, in the
        mean over users, a share of the top k of the model `reference`.
    items, users : dict
        Conditions that a row of the table meets; without those on `users`, all users.
    """

    kind: Literal["never", "overlap"]
    k: int | None
    items: Conditions
    users: Conditions
    reference: str
    at_least: float


def _as_list(value: Any) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else [value]


def _is_condition(columns: Any) -> bool:
    """True for a dict of columns, each with a value or a list of values."""
    return isinstance(columns, Mapping) and all(
        isinstance(column, str) and isinstance(value, str | int | float)
        for column, values in columns.items()
        for value in _as_list(values) or [None]
    )


def _is_valid(key: str, value: Any) -> bool:
    """True if the value of a key is valid; `value` is None if the key is missing."""
    match key:
        case "items":
            return _is_condition(value) and len(value) > 0
        case "users":
            return value is None or _is_condition(value)
        case "with":
            return isinstance(value, str)
        case "at_least":
            return is_number(value) and 0 < value <= 1
        case _:
            return value is None or (type(value) is int and 1 <= value <= MAX_K)


_FIXES = {
    "items": "write columns with a value or a list of values, such as {'group': 'adult'}",
    "users": "write columns with a value or a list of values, or leave it out",
    "with": "name the model whose lists are to be kept",
    "at_least": "write a share above 0, at most 1, such as 0.7",
    "k": "write a whole number above 0",
}
_KEYS = {"never": ("items", "users", "k"), "overlap": ("with", "at_least", "k")}
_EXAMPLES = (
    "{'never': {'items': {'group': 'adult'}, 'users': {'age_group': 'minor'}}} or "
    "{'overlap': {'with': 'production', 'at_least': 0.7}}"
)


def parse_checks(value: Any) -> dict[str, Check]:
    """Return the checks that a dict describes, by name.

    Raises
    ------
    InputError
        The value is not a dict, or a check is invalid; all problems at once.
    """
    if not isinstance(value, Mapping):
        raise refuse("checks", f"is {format_value(value)}", "write a dict of names and checks")
    raise_problems(problem for name in value for problem in _problems(str(name), value[name]))
    return {str(name): _parse(*entry.items()) for name, entry in value.items()}


def _parse(entry: tuple[Any, Mapping[str, Any]]) -> Check:
    kind, rule = entry
    items, users = (
        {column: _as_list(values) for column, values in (rule.get(table) or {}).items()}
        for table in ("items", "users")
    )
    return Check(kind, rule.get("k"), items, users, rule.get("with", ""), rule.get("at_least", 0.0))


def _problems(name: str, entry: Any) -> Iterator[Problem]:
    kind = next(iter(entry)) if isinstance(entry, Mapping) and len(entry) == 1 else None
    if kind not in _KEYS or not isinstance(entry[kind], Mapping):
        yield Problem(("checks", name), f"is {format_value(entry)}", f"write {_EXAMPLES}")
        return
    location, rule = ("checks", name, kind), entry[kind]
    for key in [key for key in rule if key not in _KEYS[kind]]:
        problem = f"{format_value(key)} is not a key of `{kind}`"
        yield Problem(location, problem, suggest(str(key), _KEYS[kind]))
    for key in _KEYS[kind]:
        if not _is_valid(key, rule.get(key)):
            problem = f"is {format_value(rule[key])}" if key in rule else "is missing"
            yield Problem((*location, key), problem, _FIXES[key])


def check_problems(
    checks: Mapping[str, Check],
    models: Collection[str],
    tables: Collection[str],
    settings: SettingNames,
) -> Iterator[Problem]:
    """Yield checks against an unknown model, and with conditions on tables not given."""
    for name, check in checks.items():
        location = ("checks", name, check.kind)
        for table in ("items", "users"):
            if getattr(check, table) and table not in tables:
                fix = f"give {settings.name('background', table)}, or remove the check"
                yield Problem((*location, table), f"needs {table}, which is missing", fix)
        if check.kind == "overlap" and models and check.reference not in models:
            problem = f"{check.reference!r} is not among the models"
            yield Problem((*location, "with"), problem, suggest(check.reference, models))
