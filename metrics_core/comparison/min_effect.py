"""Minimum relevant differences: numbers, or shares of the baseline's mean such as "2%"."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.conventions.convention import format_value, is_number
from concord.metrics_core.errors import Location, Problem, SettingNames
from concord.metrics_core.metrics.label import Label, suggest_label, to_result_spelling
from concord.metrics_core.stats.paired_difference import Interval, PairedTest

Effect = float | str
Effects = Effect | Mapping[str, Effect]

DEFAULT = "default"  # key for the labels that are not named
PERCENT = re.compile(r"^[0-9]{1,4}(\.[0-9]{1,15})?%$")
MAX_EFFECT, MAX_PERCENT = 1e9, 1000
EFFECT_FIX = (
    "write a number such as 0.005, or a share of the baseline's mean such as 2%; "
    f"at most {MAX_EFFECT:,.0f} or {MAX_PERCENT}%"
)


def is_effect(value: Any) -> bool:
    """True for a number that is not negative, and for a share such as "2%"."""
    if isinstance(value, str):
        return PERCENT.fullmatch(value) is not None and float(value[:-1]) <= MAX_PERCENT
    return is_number(value) and 0 <= value <= MAX_EFFECT


def effect_by_label(effects: Effects, labels: Collection[str]) -> dict[str, Effect]:
    """Return label -> its minimum relevant difference."""
    if not isinstance(effects, Mapping):
        effects = {DEFAULT: effects}
    effect_of = {to_result_spelling(text, labels): effect for text, effect in effects.items()}
    by_label = {
        label: effect_of[label] if label in effect_of else effect_of[DEFAULT] for label in labels
    }
    return {label: e if isinstance(e, str) else float(e) for label, e in by_label.items()}


def to_absolute(effect: Effect, mean: float) -> float:
    """Return a minimum relevant difference as a number; `mean` is what a share is of."""
    if isinstance(effect, str):
        return float(effect.removesuffix("%")) / 100 * abs(mean)
    return float(effect)


def is_share(effect: Effect) -> bool:
    """True for a share such as "2%"; a share of 0 is the number 0."""
    return isinstance(effect, str) and to_absolute(effect, 1.0) > 0


def margin_interval(
    test: PairedTest, effect: Effect, mean: float, confidence: float
) -> tuple[Interval, float]:
    """Return the interval of a difference, and the number that it is compared with.

    For a share of a mean that is the interval of the share, times the mean: it counts the error of
    the mean. The number is NaN if the interval of this mean contains 0.

    Parameters
    ----------
    test : PairedTest
        Test of the difference.
    effect : float or str
        Minimum relevant difference or margin: a number, or a share such as "2%".
    mean : float
        The mean that a share is of, if the test has none over the same users.
    confidence : float
        Level of the interval.

    Returns
    -------
    ((float, float), float)
        Ends of the interval, NaN if there is none, and `effect` as a number.
    """
    if test.reference is not None:
        mean = test.reference.mean
    number = to_absolute(effect, mean)
    if not is_share(effect) or not test.has_interval(confidence):
        return test.interval(confidence), number
    low, high = test.clipped(*(end * abs(mean) for end in test.share_interval(confidence)))
    return (low, high), math.nan if math.isnan(low) else number


def effect_problems(
    effects: Any, labels: Mapping[str, Label], primary: Sequence[str], settings: SettingNames
) -> Iterator[Problem]:
    """Yield values that are invalid, labels that are not evaluated, and labels without a value."""
    if not isinstance(effects, Mapping):
        if not is_effect(effects):
            yield Problem("min_effect", f"is {format_value(effects)}", EFFECT_FIX)
        elif not isinstance(effects, str):
            yield from unreachable_problems(effects, [labels[p] for p in primary if p in labels])
        return
    effect_of = {}
    for text, effect in effects.items():
        location = ("min_effect", text)
        if not isinstance(text, str):
            fix = "write a label such as 'nDCG@10'"
            yield Problem("min_effect", f"has the key {format_value(text)}", fix)
            continue
        label = to_result_spelling(text, labels)
        if label in effect_of:
            yield Problem("min_effect", f"names {label} more than once", "name each label once")
        effect_of[label] = effect
        if not is_effect(effect):
            yield Problem(location, f"is {format_value(effect)}", EFFECT_FIX)
    if not labels:
        return
    for name, effect in effect_of.items():
        named = [name] if name != DEFAULT else [each for each in primary if each not in effect_of]
        reached = [labels[each] for each in named if each in labels]
        if is_effect(effect) and not isinstance(effect, str):
            yield from unreachable_problems(effect, reached, ("min_effect", name))
    for label in sorted(effect_of.keys() - labels.keys() - {DEFAULT}):
        yield unevaluated_label_problem("min_effect", label, labels, settings)
    missing = [label for label in labels if label not in effect_of]
    if missing and DEFAULT not in effect_of:
        more = f" and {len(missing) - 1} more labels" if len(missing) > 1 else ""
        fix = f"add `{DEFAULT}:` for the labels that it does not name"
        yield Problem("min_effect", f"has no value for {missing[0]}{more}", fix)


def unreachable_problems(
    effect: float, labels: Sequence[Label], location: Location = "min_effect"
) -> Iterator[Problem]:
    """Yield the first label whose range is too small: a share without its % may be meant."""
    for label in labels:
        low, high = label.metric.range
        if effect >= high - low:
            problem = (
                f"is {effect:g}, and no two values of {label} are further apart than {high - low:g}"
            )
            fix = f"write {effect:g}% for a share of the baseline, or a smaller number"
            yield Problem(location, problem, fix)
            return


def unevaluated_label_problem(
    location: Location, label: str, labels: Collection[str], settings: SettingNames
) -> Problem:
    """Return the problem of a label that is not evaluated, with a similar label."""
    suggestion = suggest_label(label, labels)
    addition = f"add it to {settings.name(*settings.metrics)}"
    has_similar = suggestion.endswith("?")
    fix = f"{suggestion} (or {addition})" if has_similar else f"{addition}; {suggestion}"
    return Problem(location, f"{label!r} is not evaluated", fix)
