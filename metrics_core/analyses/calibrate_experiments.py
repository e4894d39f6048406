"""Past A/B experiments, and the offline differences of their models."""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from concord.metrics_core.data.frames import Data, table_of
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.files import open_file
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import or_nan

NAMES = ("experiment", "control", "treatment")
_ENDS = ("_se", "_low", "_high")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?")
_COLUMNS = f"the columns are {', '.join(NAMES)} and one a metric that was measured online, separated by commas"
Row = tuple[str, Mapping[str, str]]  # where it stands, and its cells


@dataclass(frozen=True)
class Lift:
    """What a treatment did to an online metric, in its own unit; higher is better.

    se        : its standard error, if that is known
    low, high : its interval, if that is known
    """

    value: float
    se: float | None = None
    low: float | None = None
    high: float | None = None

    def settled(self, z: float) -> bool:
        """Is its sign settled? A lift of unknown uncertainty is taken at its word."""
        if self.value == 0:
            return False
        if self.se is not None:
            return abs(self.value) > z * self.se
        if self.low is not None and self.high is not None:
            return self.low > 0 or self.high < 0
        return True


@dataclass(frozen=True)
class Experiment:
    """control, treatment : `model`, or `model@revision`; lifts: online metric -> what was measured"""

    name: str
    control: str
    treatment: str
    lifts: Mapping[str, Lift]
    where: str


def read_experiments(path: Path) -> tuple[Experiment, ...]:
    """The experiments of a CSV file; all of it is text, but for the lifts.

    Raises
    ------
    InputError : with every problem of the file
    """
    where = str(path)
    try:
        with open_file(path, "name a CSV file", encoding="utf-8-sig") as file:
            lines = csv.reader(file, strict=True)
            rows = [(lines.line_num, row) for row in lines if any(map(str.strip, row))]
    except FileNotFoundError:
        raise refuse(where, "there is no such file", _COLUMNS) from None
    except OSError as error:
        raise refuse(where, f"cannot be read: {error.strerror}", "name a CSV file") from None
    except UnicodeDecodeError:
        raise refuse(where, "is not UTF-8", "save the file as CSV in UTF-8") from None
    except csv.Error as error:
        what = f"is no CSV: {error}"
        raise refuse(where, what, "check its quotes") from None
    if not rows:
        raise refuse(where, "is empty", _COLUMNS)
    (_, head), *others = rows
    names = [name.strip() for name in head]
    odd = [
        Problem(f"{where}: line {number:,}", f"has {len(row)} cells, and there are {len(names)} columns", "one cell a column; quote cells that hold a comma")
        for number, row in others
        if len(row) != len(names)
    ]  # fmt: skip
    if odd:
        raise InputError([*_misnamed(names, where), *odd])
    cells = [
        (f"{where}: line {number:,}", dict(zip(names, map(str.strip, row), strict=True)))
        for number, row in others
    ]
    return _experiments(names, cells, where)


def given_experiments(data: Data) -> tuple[Experiment, ...]:
    """The same of a frame, or of the path of a CSV file."""
    if isinstance(data, str | Path):
        return read_experiments(Path(data))
    table = table_of(data, "experiments")
    rows = [
        (f"experiments: row {number:,}", {name: _text(cell) for name, cell in row.items()})
        for number, row in enumerate(table.to_pylist(), start=1)
    ]
    return _experiments(list(map(str, table.column_names)), rows, "experiments")


def _text(cell: Any) -> str:
    absent = cell is None or (isinstance(cell, float) and math.isnan(cell))
    return "" if absent else str(cell).strip()


def _experiments(names: Sequence[str], rows: Sequence[Row], where: str) -> tuple[Experiment, ...]:
    problems = list(_misnamed(names, where))
    if problems:
        raise InputError(problems)
    if not rows:
        raise refuse(where, "holds no experiment", "write one experiment a row")
    online = [name for name in names if name not in NAMES and not _base(name, names)]
    found: list[Experiment] = []
    for place, cells in rows:
        problems += _unnamed(place, cells, [each.name for each in found])
        lifts = dict(_lifts(place, cells, online, problems))
        name, control, treatment = (cells[each] for each in NAMES)
        found.append(Experiment(name, control, treatment, lifts, place))
    if problems:
        raise InputError(problems)
    return tuple(found)


def _base(name: str, names: Iterable[str]) -> str:
    """`ctr` for `ctr_se`, where there is a column `ctr`."""
    bases = [name.removesuffix(end) for end in _ENDS if name.endswith(end)]
    return bases[0] if bases and bases[0] in set(names) - set(NAMES) else ""


def _misnamed(names: Sequence[str], where: str) -> Iterator[Problem]:
    for name in NAMES:
        if name not in names:
            yield Problem(where, f"has no column {name}, only {', '.join(names)}", _COLUMNS)
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield Problem(
                where, f"has {names.count(name)} columns named {name!r}", "name each column once"
            )
        if not name:
            yield Problem(where, "has a column without a name", "name it, or delete it")
    online = [name for name in names if name not in NAMES]
    if not online:
        yield Problem(where, "has no online metric", _COLUMNS)
    for name in online:
        if name.endswith(_ENDS) and not _base(name, names):
            what = f"has {name}, and no column that it belongs to"
            yield Problem(where, what, "name the lift's column without the ending")
        ends = [end for end in _ENDS if name + end in names]
        if ends not in ([], ["_se"], ["_low", "_high"]):
            what = f"says of {name}: {', '.join(name + end for end in ends)}"
            yield Problem(where, what, f"give {name}_se, or {name}_low and {name}_high, or none")


def _unnamed(place: str, cells: Mapping[str, str], before: Sequence[str]) -> Iterator[Problem]:
    for name in NAMES:
        if not cells[name]:
            yield Problem(f"{place}: {name}", "is empty", "fill it in")
    if cells["experiment"] and cells["experiment"] in before:
        what = f"{cells['experiment']!r} stands in two rows"
        yield Problem(f"{place}: experiment", what, "name each experiment once")
    if cells["control"] and cells["control"] == cells["treatment"]:
        what = f"control and treatment are both {cells['control']!r}"
        yield Problem(place, what, "name the two lists that were compared")


def _lifts(
    place: str, cells: Mapping[str, str], online: Iterable[str], problems: list[Problem]
) -> Iterator[tuple[str, Lift]]:
    """The lifts that were measured; an empty cell was not."""
    for name in online:
        known = {end: _number(place, name + end, cells, problems) for end in ("", *_ENDS)}
        value, se, low, high = known.values()
        if value is None:
            stray = [name + end for end in _ENDS if known[end] is not None]
            if stray and not cells[name]:
                problems.append(Problem(f"{place}: {name}", f"is empty, and {stray[0]} is not", "fill in both, or neither"))  # fmt: skip
            continue
        if se is not None and se <= 0:
            problems.append(Problem(f"{place}: {name}_se", f"is {se:g}", "a standard error is greater than 0; leave unknown ones empty"))  # fmt: skip
        if (low is None) != (high is None):
            problems.append(Problem(f"{place}: {name}", "has one end of an interval", "give both, or neither"))  # fmt: skip
        elif low is not None and high is not None and not low <= value <= high:
            problems.append(Problem(f"{place}: {name}", f"{value:g} is not between {low:g} and {high:g}", "check the three"))  # fmt: skip
        yield name, Lift(value, se, low, high)


def _number(
    place: str, name: str, cells: Mapping[str, str], problems: list[Problem]
) -> float | None:
    text = cells.get(name, "").replace("−", "-")
    if not text:
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    fix = "write a number such as 0.8 or -1.2e-3, in one unit a column and without %; leave what was not measured empty"
    problems.append(Problem(f"{place}: {name}", f"{text!r} is no number", fix))
    return None


PINNED = "as pinned"
Key = tuple[str, str]  # label, definition


@dataclass(frozen=True)
class Skipped:
    """An experiment that takes no part, and why."""

    experiment: str
    why: str


@dataclass(frozen=True)
class Offline:
    """differences : (labels, experiments) treatment minus control, turned so that higher is better; NaN: no value"""

    keys: tuple[Key, ...]
    experiments: tuple[Experiment, ...]
    differences: Floats
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class _Side:
    model: str
    comparison: Comparison


def revision_of(named: str, models: Sequence[str]) -> tuple[str, str]:
    """`als@v1.2` -> als, v1.2; a model of today, and a name without @, have the revision ``."""
    model, _, revision = named.partition("@")
    return (named, "") if named in models or not revision else (model, revision)


def offline_of(experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]) -> Offline:
    """The differences of every label that some experiment has, in the order of the labels today.

    Parameters
    ----------
    comparisons : revision -> its comparison; `` is the one of today

    Raises
    ------
    InputError : a model or a revision is not there
    """
    sides = _sides(experiments, comparisons)
    skipped = {i: why for i, pair in enumerate(sides) if (why := _unlike(*pair))}
    kept = [i for i in range(len(sides)) if i not in skipped]
    prints = Counter(sides[i][0].comparison.conventions.fingerprint for i in kept)
    if prints:
        (most, _), *_ = prints.most_common(1)
        for i in list(kept):
            if sides[i][0].comparison.conventions.fingerprint != most:
                skipped[i] = "evaluated under other conventions than the other experiments"
                kept.remove(i)
    found = [_differences(*sides[i]) for i in kept]
    keys = tuple(dict.fromkeys(key for each in [_order(comparisons), *found] for key in each))
    keys = tuple(key for key in keys if any(key in each for each in found))
    values = [[each.get(key, np.nan) for each in found] for key in keys]
    return Offline(
        keys,
        tuple(experiments[i] for i in kept),
        np.array(values, dtype=np.float64).reshape(len(keys), len(kept)),
        tuple(Skipped(experiments[i].name, skipped[i]) for i in sorted(skipped)),
    )


def _order(comparisons: Mapping[str, Comparison]) -> list[Key]:
    return [(label, PINNED) for label in next(iter(comparisons.values())).labels]


def _sides(
    experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]
) -> list[tuple[_Side, _Side]]:
    problems: list[Problem] = []
    pairs = []
    for each in experiments:
        sides = []
        for role, named in (("control", each.control), ("treatment", each.treatment)):
            today = comparisons[""].models if "" in comparisons else ()
            model, revision = revision_of(named, today)
            where, comparison = f"{each.where}: {role}", comparisons.get(revision)
            if comparison is None:
                what = (
                    f"{named!r} names the revision {revision!r}, of which no comparison was given"
                )
                problems.append(Problem(where, what, "give its comparison"))
            elif model not in comparison.models:
                then = f" of {revision}" if revision else ""
                what = f"{model!r} is not among the models{then}"
                problems.append(
                    Problem(where, what, f"name one of: {', '.join(comparison.models)}")
                )
            else:
                sides.append(_Side(model, comparison))
        pairs.append(tuple(sides))
    if problems:
        raise InputError(problems)
    return [(control, treatment) for control, treatment in pairs]


def _unlike(control: _Side, treatment: _Side) -> str:
    """Why the difference of the two would be none of the lists; nothing where it is one."""
    one, other = control.comparison, treatment.comparison
    if one is other:
        return ""
    if one.conventions.fingerprint != other.conventions.fingerprint:
        return "control and treatment were evaluated under different conventions"
    truths = [_truth(each) for each in (one, other)]
    if None in truths:
        return "it is not known whether control and treatment were evaluated on the same truth"
    if truths[0] != truths[1]:
        return "control and treatment were evaluated on different truths"
    return ""


def _truth(comparison: Comparison) -> dict[str, str] | None:
    """The hash of the truth, or of that of each fold; None where one is not known."""
    truths = comparison.provenance.truths
    found = {each.role: each.sha256 for each in truths if each.sha256 is not None}
    return found if truths and len(found) == len(truths) else None


def _differences(control: _Side, treatment: _Side) -> dict[Key, float]:
    one, other = dict(_values(control)), dict(_values(treatment))
    found = {}
    for key, value in other.items():
        sign = 1 if treatment.comparison.metric(key[0]).higher_is_better else -1
        if key in one and np.isfinite(difference := sign * (value - one[key])):
            found[key] = float(difference)
    return found


def _values(side: _Side) -> Iterator[tuple[Key, float]]:
    """Of all labels as they are pinned, and of the primary ones under every other definition of the panel."""
    for label in side.comparison.labels:
        yield (label, PINNED), or_nan(side.comparison.score(side.model, label).mean)
    for entry in side.comparison.panel:
        for definition in entry.definitions[1:]:
            value = definition.values.get(side.model)
            yield (entry.metric, definition.name), or_nan(value)
