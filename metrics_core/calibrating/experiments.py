"""Past A/B experiments: which two lists, and what they did online."""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from concord.metrics_core.checking.files import open_file
from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.reading.formats.frames import Data, table_of

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
