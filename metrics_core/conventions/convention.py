"""Convention: a row of the registry, with the check of its values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from concord.metrics_core.errors import Problem

LARGEST = 1e15  # of grades, gains and bases; float64 holds every integer up to here
MAX_SHOWN = 80  # characters of a value in a message
Value = Any  # as in params.yaml: text, number, null or a small mapping
Scope = Literal["kernel", "every", "relevance", "truth", "users"]


class Key(NamedTuple):
    """A key of a convention whose value is a mapping.

    Attributes
    ----------
    form : str
        How to write the value.
    schema : Mapping[str, Any]
        JSON Schema of a number, with `maximum` and `minimum` or `exclusiveMinimum`.
        Empty if only `words` are allowed.
    words : Mapping[str, str]
        Allowed words and their meaning.
    is_required : bool
        False if the key may be missing.
    """

    form: str
    schema: Mapping[str, Any] = {}
    words: Mapping[str, str] = {}
    is_required: bool = False

    def allows(self, value: Value) -> bool:
        """True if the key may have this value."""
        if isinstance(value, str) or not self.schema:
            return isinstance(value, str) and value in self.words
        if not (type(value) is int if self.schema["type"] == "integer" else is_number(value)):
            return False
        above = self.schema.get("exclusiveMinimum", -LARGEST)
        minimum, maximum = self.schema.get("minimum", -LARGEST), self.schema.get("maximum", LARGEST)
        return bool(value > above and minimum <= value <= maximum)


@dataclass(frozen=True)
class Convention:
    """A choice that changes the value of a metric.

    Attributes
    ----------
    name : str
        Key in params.yaml and attribute of `Conventions`.
    meaning : str
        What it decides.
    default : Value
        Its value in the preset `standard`.
    values : Mapping[str, str]
        Allowed words and their meaning.
    accepts : Callable[[Value], bool]
        True for allowed values that are not words.
    form : str
        How to write them.
    forms : Mapping[str, str]
        Meaning of `{word: number}`, by word.
    keys : Mapping[str, Key]
        Keys of a value that is a mapping.
    check : Callable[[Mapping[str, Value]], Problem | None]
        Returns the problem of a mapping whose keys are all valid, or None.
    metrics : Scope or tuple of str
        Metrics that it can change, by name or scope. "kernel": metrics whose function takes it.
        "every": all metrics. "relevance": metrics that distinguish relevant items.
        "truth": metrics that compare lists with the ground truth.
        "users": metrics with a value per user.
    sets_ranking : bool
        True if it is applied when lists are ranked, before any metric.
    sets_scale : bool
        True if it belongs to the grades of a data set; any preset allows any value.
    describes_data : bool
        True if it belongs to the data: no preset sets it, and files omit it unless it is set.
    omits_default : bool
        True if files omit the default: those of older versions do not have the convention.
    """

    name: str
    meaning: str
    default: Value = None
    values: Mapping[str, str] = field(default_factory=dict)
    accepts: Callable[[Value], bool] = lambda _: False
    form: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, Key] = field(default_factory=dict)
    check: Callable[[Mapping[str, Value]], Problem | None] = lambda _: None
    metrics: Scope | tuple[str, ...] = "kernel"
    sets_ranking: bool = False
    sets_scale: bool = False
    describes_data: bool = False
    omits_default: bool = False

    def allowed_values(self) -> str:
        """Return all allowed values as text, for a message."""
        return " | ".join([*self.values, *([self.form] if self.form else [])])

    def explain(self, value: Value) -> str:
        """Return the meaning of a value; empty if it has no description."""
        if isinstance(value, Mapping) and self.keys:
            meanings = [key.words.get(str(value.get(name)), "") for name, key in self.keys.items()]
            return "; ".join(filter(None, meanings))
        if isinstance(value, Mapping):
            return self.forms.get(next(iter(value)), "")
        return self.values.get(value, "") if isinstance(value, str) else ""

    def problems(self, value: Value, *override: str) -> Iterator[Problem]:
        """Yield the problems of a value, in general or in an override."""
        location = ("conventions", *override, self.name)
        if self.describes_data and value is None:
            return
        if self.keys:
            yield from self._mapping_problems(value, location)
        elif not ((isinstance(value, str) and value in self.values) or self.accepts(value)):
            limit = f"; numbers go up to {LARGEST:,.0f}" if _is_too_large(value) else ""
            fix = f"choose one of: {self.allowed_values()}{limit}"
            yield Problem(location, f"is {format_value(value)}", fix)

    def _mapping_problems(self, value: Value, location: tuple[str, ...]) -> Iterator[Problem]:
        if not isinstance(value, Mapping):
            fix = f"write {self.form}, or leave it out"
            yield Problem(location, f"is {format_value(value)}", fix)
            return
        problems = [
            Problem((*location, name), "is not a key of it", f"write {self.form}")
            for name in value
            if name not in self.keys
        ]
        for name, key in self.keys.items():
            if name in value and not key.allows(value[name]):
                message = f"is {format_value(value[name])}"
                problems.append(Problem((*location, name), message, f"write {key.form}"))
            elif name not in value and key.is_required:
                problems.append(Problem((*location, name), "is missing", f"write {key.form}"))
        if not problems and (problem := self.check(value)):
            problems.append(problem)
        yield from problems


def is_number(value: Value) -> bool:
    """True for an int or float from -1e15 to 1e15; False for NaN, True and False."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -LARGEST <= value <= LARGEST


def mapping_of(checks: Mapping[str, Callable[[Value], bool]]) -> Callable[[Value], bool]:
    """Return a check of `{word: number}`, such as `{log: 2}`.

    `checks` has the check of the number for each allowed word.
    """

    def accepts(value: Value) -> bool:
        if not isinstance(value, Mapping) or len(value) != 1:
            return False
        ((word, number),) = value.items()
        return word in checks and checks[word](number)

    return accepts


def _is_too_large(value: Value) -> bool:
    """True if the value is or contains a number beyond `LARGEST`."""
    if isinstance(value, Mapping):
        return any(_is_too_large(part) for pair in value.items() for part in pair)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and not is_number(value) and value == value  # noqa: PLR0124 - not NaN


def format_value(value: Value) -> str:
    """Return a value for a message, shortened if it is long."""
    text = "empty" if value is None else repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
