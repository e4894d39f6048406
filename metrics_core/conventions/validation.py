"""Validation of conventions: all problems at once, each with its key and a fix."""

import difflib
from collections.abc import Iterable, Iterator, Mapping

from concord.metrics_core.conventions.convention import Problem, Value, format_value
from concord.metrics_core.conventions.registry import CONVENTION, PRESET_CONVENTIONS


class ConventionError(ValueError):
    """Invalid conventions.

    Attributes
    ----------
    problems : list of tuple
        (key, message, fix) of each problem.
    """

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(
            "\n".join(f"{key}: {problem}\n  fix: {fix}" for key, problem, fix in problems)
        )


def suggest(word: str, words: Iterable[str]) -> str:
    """Return a question with the most similar of the known words, or all known words."""
    known = sorted(words)
    same_letters = [each for each in known if each.casefold() == word.casefold()]
    similar = same_letters or difflib.get_close_matches(word, known, n=1)
    return f"did you mean {similar[0]!r}?" if similar else f"known: {', '.join(known)}"


def key_problems(
    mapping: Mapping[str, Value], known: set[str], optional: Mapping[str, Value]
) -> Iterator[Problem]:
    """Yield the problems of unknown and missing keys."""
    for key in mapping:
        if key not in known:
            yield str(key), "is not a convention", suggest(str(key), known)
    for name in sorted(known - set(mapping) - set(optional)):
        allowed = f" ({CONVENTION[name].allowed_values()})" if name in CONVENTION else ""
        yield name, "is missing", f"add `{name}: …`{allowed}"


def value_problems(mapping: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield the problems of the values of conventions, of the preset and of overrides."""
    if not isinstance(mapping["preset"], str):
        yield "preset", f"is {format_value(mapping['preset'])}", "name a preset, or write `custom`"
    for name, value in mapping.items():
        if name in CONVENTION:
            yield from CONVENTION[name].problems(value)
    propensity = mapping["propensity"]
    normalised = propensity.get("normalised") if isinstance(propensity, Mapping) else None
    if normalised == "over_all" and mapping["unit_mean"] == "users":
        problem = (
            "is over_all, one ratio over all rows, "
            "but unit_mean: users gives all users the same weight"
        )
        fix = "write unit_mean: requests, or normalised: per_user"
        yield "propensity.normalised", problem, fix
    yield from _override_problems(mapping["overrides"])


def _override_problems(overrides: Value) -> Iterator[Problem]:
    if not isinstance(overrides, Mapping):
        fix = "write {} if there are none, else a mapping such as {RR: {rr_cutoff: none}}"
        yield "overrides", f"is {format_value(overrides)}", fix
        return
    known = {each.name for each in PRESET_CONVENTIONS}
    for key, values in overrides.items():
        if not isinstance(key, str) or not isinstance(values, Mapping):
            fix = "write a mapping such as {rr_cutoff: none}"
            yield f"overrides.{key}", f"is {format_value(values)}", fix
            continue
        for name, value in values.items():
            location = f"overrides.{key}.{name}"
            if name in known:
                yield from CONVENTION[name].problems(value, location)
            else:
                yield location, "is not a convention", suggest(str(name), known)
