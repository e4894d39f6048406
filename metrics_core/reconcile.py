"""`reconcile`: under which definition do these lists give a number that somebody got elsewhere?

Presets are tried first, then the pinned conventions with one knob set otherwise, then with two.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from concord.metrics_core.checking.locked import in_memory
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.conventions.conventions import KNOBS, Conventions
from concord.metrics_core.conventions.presets import Chosen, conventions_of
from concord.metrics_core.evaluate import mean_of
from concord.metrics_core.inputs import open_inputs
from concord.metrics_core.metrics.catalogue import Label, changed_by, of_lists_and_truth
from concord.metrics_core.reading.formats.frames import Data
from concord.metrics_core.reading.given import Columns
from concord.metrics_core.scoring.panel import Definition, differing, panel
from concord.metrics_core.scoring.partition import Task, evaluate_partition
from concord.metrics_core.scoring.score import why_not

_NUMBER = re.compile(r"^(?P<sign>-?)(?P<digits>\d*\.?\d+)(?P<percent>%?)$")
MOST_GRADES = 10  # thresholds that are tried
KEPT = 5  # of the nearest that do not match
AT_ONCE = 64  # definitions that are computed in one pass
SLACK = 1e-9

# What words cannot list.
_NUMBERS: Mapping[str, tuple[Any, ...]] = {
    "relevance_threshold": (None,),
    "discount": ({"log": 2}, {"log": math.e}, {"log": 10}, {"jk": 2}, {"halflife": 5}),
    "err_max_grade": (1, 2, 3, 4, 5),
}
_UNTRIED = ("error", "propagate")  # they refuse or undo a number

Means = Callable[[Sequence[Definition]], Sequence[float]]


@dataclass(frozen=True)
class Given:
    """The number as it was printed: its value and the size of its last digit."""

    value: float
    unit: float

    def matches(self, mean: float) -> bool:
        """Is this what is printed for the mean, rounded or cut off?"""
        off = mean - self.value
        rounded = abs(off) <= self.unit / 2 * (1 + SLACK)
        return rounded or self.cuts(mean)

    def cuts(self, mean: float) -> bool:
        """Is this the mean with its further digits cut off, not rounded?"""
        off = mean - self.value
        return self.unit / 2 * (1 + SLACK) < off < self.unit * (1 - SLACK)


@dataclass(frozen=True)
class Found:
    """A definition and what it gives.

    presets : the presets that define the metric so; empty where none does
    changes : the knobs that differ from the pinned conventions
    """

    mean: float
    presets: tuple[str, ...]
    changes: Mapping[str, Any]
    matches: bool
    cut: bool


def given(text: str) -> Given:
    """The number that a text such as `0.330` or `33.0%` prints.

    Raises
    ------
    ValueError : the text is no number
    """
    match = _NUMBER.match(text.strip()) if isinstance(text, str) else None
    if match is None:
        how = "is no number such as 0.330 or 33.0%" if isinstance(text, str) else "is no text"
        msg = f"{text!r} {how}: write the number as text as it was printed, such as '0.330'"
        raise ValueError(msg)
    scale = 100 if match["percent"] else 1
    decimals = len(match["digits"].partition(".")[2])
    value = float(match["sign"] + match["digits"])
    return Given(value / scale, 10.0**-decimals / scale)


def reconcile(
    recs: Data,
    truth: Data,
    *,
    value: str,
    metric: str,
    conventions: Chosen,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    unit: Sequence[str] = (),
) -> list[Found]:
    """Definitions under which the lists give a number got elsewhere, nearest first; then the nearest of the others.

    Parameters
    ----------
    value          : the number as it was printed, such as "0.330"; its last digit says how exact a match must be
    conventions    : what is pinned here; the lists are ranked as it says, whatever the definition
    columns, input, unit : as for `evaluate`

    Raises
    ------
    ValueError : the value is no number, the metric reads more than lists and truth; else as `evaluate`
    """
    label, pinned = of_lists_and_truth(metric, asks="reconcile"), conventions_of(conventions)
    given(value)
    if (pinned.propensity or {"column": "truth"}).get("column") != "truth":
        what = "is of train or of items, and lists and truth alone are read"
        raise refuse(
            "conventions: propensity", what, "leave it out, or name the column of the truth"
        )
    with in_memory() as connection:
        how: dict[str, Any] = {"columns": columns, "policies": input, "unit": unit}
        open_inputs(connection, recs, truth, pinned, again=True, **how)
        query = "SELECT DISTINCT grade FROM truth WHERE grade > 0 ORDER BY grade"
        grades = [grade for (grade,) in connection.execute(query).fetchall()]

        def means(definitions: Sequence[Definition]) -> list[float]:
            part = evaluate_partition(connection, Task((), pinned, definitions=definitions))
            return [mean_of([part.values], definition) for definition in definitions]

        thresholds = grades if len(grades) <= MOST_GRADES else []
        return search(value, label, pinned, means, grades=thresholds)


def search(
    text: str,
    label: Label,
    pinned: Conventions,
    means: Means,
    *,
    grades: Sequence[float] = (),
) -> list[Found]:
    """The search of `reconcile`, whatever computes the means.

    Parameters
    ----------
    text   : the number as it was printed; its last digit says how exact a match must be
    means  : the means of definitions on the lists and the truth
    grades : thresholds that are tried beside the pinned one
    """
    wanted = given(text)
    tried: list[Found] = []
    for definitions in _rounds(label, pinned, grades):
        tried += _computed(definitions, pinned, means, wanted)
        if len(tried) > 1 and any(found.matches for found in tried) and _knobs_tried(tried):
            break
    matching = [found for found in tried if found.matches]
    others = [found for found in tried if not found.matches and not math.isnan(found.mean)]
    others.sort(key=lambda found: abs(found.mean - wanted.value))
    return [*_nearest(matching, wanted), *others[:KEPT]]


def _rounds(
    label: Label, pinned: Conventions, grades: Sequence[float]
) -> Iterator[list[Definition]]:
    """The presets' definitions, then those with one knob changed, then with two."""
    yield list(panel(label, pinned).definitions)
    for number in (1, 2):
        yield [
            Definition(label, place, (), own)
            for place, own in enumerate(_changed(label, pinned, number, grades), 1)
        ]


def _knobs_tried(tried: Sequence[Found]) -> bool:
    return any(not found.presets and len(found.changes) == 1 for found in tried)


def _computed(
    definitions: Sequence[Definition], pinned: Conventions, means: Means, wanted: Given
) -> Iterator[Found]:
    for start in range(0, len(definitions), AT_ONCE):
        part = definitions[start : start + AT_ONCE]
        for definition, mean in zip(part, means(part), strict=True):
            changes = differing(definition.label, definition.conventions, pinned)
            fits = wanted.matches(mean)
            yield Found(mean, definition.presets, changes, fits, fits and wanted.cuts(mean))


def _nearest(found: list[Found], wanted: Given) -> list[Found]:
    return sorted(
        found, key=lambda f: (f.cut, not f.presets, len(f.changes), abs(f.mean - wanted.value))
    )


def _changed(
    label: Label, pinned: Conventions, number: int, grades: Sequence[float]
) -> Iterator[Conventions]:
    own = label.conventions(pinned)
    choices = _choices(label, own, grades)
    for names in combinations(choices, number):
        for values in product(*(choices[name] for name in names)):
            candidate = replace(own, **dict(zip(names, values, strict=True)))
            if not why_not(label, candidate) and not _contradicts(candidate):
                yield candidate


def _choices(label: Label, own: Conventions, grades: Sequence[float]) -> dict[str, list[Any]]:
    """The other values of every knob that a label depends on."""
    choices = {}
    for knob in KNOBS:
        if knob.ranking or label.name not in changed_by(knob.name):
            continue
        values = [*knob.values, *_NUMBERS.get(knob.name, ())]
        if knob.name == "relevance_threshold":
            values += grades
        kept = [v for v in values if v not in _UNTRIED and v != getattr(own, knob.name)]
        if kept:
            choices[knob.name] = kept
    return choices


def _contradicts(own: Conventions) -> bool:
    return (own.ideal == "full_k" and own.gain != "binary") or own.ideal == "truth_given_order_at_k"
