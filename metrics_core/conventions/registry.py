"""Registry of all conventions, in the order of params.yaml, and validation of their values.

A convention is a question that good libraries answer differently. A parameter (`k`, `p`, `rel`)
asks another question and is part of a metric's label.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping

from concord.metrics_core.conventions.convention import (
    Convention,
    Value,
    format_value,
    mapping_of,
)
from concord.metrics_core.conventions.data_conventions import DATA_CONVENTIONS
from concord.metrics_core.conventions.metric_conventions import METRIC_CONVENTIONS
from concord.metrics_core.errors import Problem

MAX_DIGITS = 15  # of a float64


def _is_digits(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_DIGITS


_USER_POLICY = {
    "zero": "the value is 0",
    "one": "the value is 1",
    "drop": "the user is left out of the metric",
    "nan": "the value is undefined; `undefined` decides what the mean does",
    "error": "an error",
}

# Users without a value, means and rounding.
USER_CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "user_no_recs",
        "A user with relevant items who got no list.",
        default="zero",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "user_empty_truth",
        "A user with a list and no relevant items.",
        default="nan",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "user_recs_only",
        "A user with a list who is not in the ground truth; metrics of the list alone "
        "keep its value unless this is drop.",
        default="drop",
        values=_USER_POLICY,
        metrics="users",
    ),
    Convention(
        "user_both_empty",
        "A user with neither list nor relevant items.",
        default="nan",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "undefined",
        "What the mean does with users whose value is undefined (0/0).",
        default="skip",
        values={
            "skip": "they are left out and counted",
            "zero": "they count as 0",
            "propagate": "the mean is undefined as soon as one is",
        },
        metrics="users",
    ),
    Convention(
        "round",
        "Rounding of published values.",
        default=None,
        accepts=lambda v: v is None or mapping_of({"user": _is_digits, "mean": _is_digits})(v),
        form="null | {user: digits} | {mean: digits}",
        forms={
            "user": "each user's value, to so many digits",
            "mean": "the mean, to so many digits",
        },
        metrics="every",
    ),
)

PRESET_CONVENTIONS = (*METRIC_CONVENTIONS, *USER_CONVENTIONS)
CONVENTIONS = (*PRESET_CONVENTIONS, *DATA_CONVENTIONS)
CONVENTION: Mapping[str, Convention] = {each.name: each for each in CONVENTIONS}


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
            fix = suggest(str(key), known)
            yield Problem(("conventions", str(key)), "is not a convention", fix)
    for name in sorted(known - set(mapping) - set(optional)):
        allowed = f" ({CONVENTION[name].allowed_values()})" if name in CONVENTION else ""
        yield Problem(("conventions", name), "is missing", f"add `{name}: …`{allowed}")


def value_problems(mapping: Mapping[str, Value]) -> Iterator[Problem]:
    """Yield the problems of the values of conventions, of the preset and of overrides."""
    if not isinstance(mapping["preset"], str):
        message = f"is {format_value(mapping['preset'])}"
        yield Problem(("conventions", "preset"), message, "name a preset, or write `custom`")
    for name, value in mapping.items():
        if name in CONVENTION:
            yield from CONVENTION[name].problems(value)
    propensity = mapping["propensity"]
    normalised = propensity.get("normalised") if isinstance(propensity, Mapping) else None
    if normalised == "over_all" and mapping["unit_mean"] == "users":
        message = (
            "is over_all, one ratio over all rows, "
            "but unit_mean: users gives all users the same weight"
        )
        fix = "write unit_mean: requests, or normalised: per_user"
        yield Problem(("conventions", "propensity", "normalised"), message, fix)
    yield from _override_problems(mapping["overrides"])


def _override_problems(overrides: Value) -> Iterator[Problem]:
    location = ("conventions", "overrides")
    if not isinstance(overrides, Mapping):
        fix = "write {} if there are none, else a mapping such as {RR: {rr_cutoff: none}}"
        yield Problem(location, f"is {format_value(overrides)}", fix)
        return
    known = {each.name for each in PRESET_CONVENTIONS}
    for key, values in overrides.items():
        if not isinstance(key, str) or not isinstance(values, Mapping):
            fix = "write a mapping such as {rr_cutoff: none}"
            yield Problem((*location, key), f"is {format_value(values)}", fix)
            continue
        for name, value in values.items():
            if name in known:
                yield from CONVENTION[name].problems(value, "overrides", key)
            else:
                fix = suggest(str(name), known)
                yield Problem((*location, key, name), "is not a convention", fix)
