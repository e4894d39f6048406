"""Which conventions make two definitions of a metric differ: each alone, and the fewest that do it together."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from concord.metrics_core.conventions.conventions import KNOB, Conventions
from concord.metrics_core.metrics.catalogue import Label, changed_by

MOST_TOGETHER = 4  # knobs that are tried together before all of them are named
CLOSE = 1e-12

Compute = Callable[[Conventions], float | None]


@dataclass(frozen=True)
class Path:
    """From one definition to another.

    changed : the knobs that matter to the metric and differ: {knob: (ours, theirs)}
    alone   : the value with only that knob set as theirs
    enough  : the fewest knobs that together give their value
    """

    ours: float | None
    theirs: float | None
    changed: Mapping[str, tuple[Any, Any]]
    alone: Mapping[str, float | None]
    enough: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The path in words."""
        if not self.changed:
            return ("nothing: the two define this metric alike",)
        if _same(self.ours, self.theirs):
            return (f"nothing on this list: both give {_written(self.ours)}",)
        decisive = [_sentence(knob, *self.changed[knob], self.alone[knob]) for knob in self.enough]
        others = [knob for knob in self.changed if knob not in self.enough]
        idle = [f"without effect here: {', '.join(others)}"] if others else []
        together = " and ".join(self.enough)
        total = f"{together}: {_written(self.ours)} becomes {_written(self.theirs)}"
        return (*decisive, total, *idle)


def path_between(label: Label, ours: Conventions, theirs: Conventions, compute: Compute) -> Path:
    """The path between two definitions; `compute` gives the value under conventions."""
    start, end = label.conventions(ours), label.conventions(theirs)
    mine, other = start.knobs(), end.knobs()
    changed = {
        name: (mine[name], other[name])
        for name in mine
        if mine[name] != other[name] and label.name in changed_by(name)
    }
    if start.candidates != end.candidates:
        other["candidates"] = end.candidates
        changed["candidates"] = start.candidates, end.candidates
    before, after = compute(start), compute(end)

    def with_theirs(knobs: Iterable[str]) -> float | None:
        return _tried(start, {knob: other[knob] for knob in knobs}, compute)

    alone = {knob: with_theirs([knob]) for knob in changed}
    acting = [
        knob
        for knob in changed
        if not _same(alone[knob], before) or not _same(with_theirs(changed.keys() - {knob}), after)
    ]
    enough = () if _same(before, after) else _fewest(acting, after, with_theirs)
    return Path(before, after, changed, alone, enough)


def _tried(start: Conventions, knobs: Mapping[str, Any], compute: Compute) -> float | None:
    """The value, or NaN where these knobs do not go together."""
    try:
        return compute(replace(start, **knobs))
    except ValueError:
        return math.nan


def _fewest(
    knobs: list[str],
    target: float | None,
    value_with: Callable[[Iterable[str]], float | None],
) -> tuple[str, ...]:
    for size in range(1, min(len(knobs), MOST_TOGETHER) + 1):
        for chosen in combinations(knobs, size):
            if _same(value_with(chosen), target):
                return chosen
    return tuple(knobs)


def _sentence(knob: str, ours: Any, theirs: Any, alone: float | None) -> str:
    meaning = KNOB[knob].means(theirs) if knob in KNOB else ""
    said = f" ({meaning})" if meaning else ""
    return f"{knob}: {_word(ours)} → {_word(theirs)}{said}; alone it gives {_written(alone)}"


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_word(inner)}" for name, inner in value.items())
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _written(value: float | None) -> str:
    return "left out" if value is None else f"{value:.6g}"


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    both_undefined = math.isnan(one) and math.isnan(other)
    return both_undefined or math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
