"""Input tables: where they are, which columns are read, and their raw rows."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa

from concord.metrics_core.data.numbers import as_arrow
from concord.metrics_core.data.paths import Place, parse_place
from concord.metrics_core.errors import InputError, Problem, SettingNames, refuse

Kind = Literal[
    "text", "integer", "unsigned", "half", "single", "float", "json"
]  # how a column's values are written
# What others call the grade, in small letters; some also as a last word, as in user_rating.
GRADES = "gain|grade|label|rating|rel|relevance|score|star|weight"
NAME_OF_GRADES = f"({GRADES})s?|(.*[^a-z])?(grade|rating|relevance)s?[^a-z]*"
# Lists within rows: position = number of the row or line * LINES + place in the list.
LINES = 1 << 32
# What columns and keys of lists are called.
PLURAL = {"item": "items", "rank": "ranks", "score": "scores", "grade": "grades"}
UNIT = (
    "unit_"  # what we call the columns that name a request, by their place; the first is the user's
)


_WHERE_NAMED = ("time", "propensity", "group")  # columns that are read if they are named


@dataclass(frozen=True)
class InputTable:
    """A file or a table in memory, and which of its columns are read.

    name     : what messages call it: the path or address of the file, or the name of an argument
    format   : one of `source.FORMATS`, or `held`
    needs    : the columns that must be there; `may_have`: those that are read if they are there,
               `time`, `propensity` and `group` only if they are named in `columns`
    columns  : ours -> theirs, where they differ
    settings : how a fix names the settings of this table
    unit     : what we call the columns that with the user name a request -> what the reader of messages does
    held     : the table itself, where it is no file
    row_name : what messages call a row of `held`, by its number from 0; else they number it
    is_hashed : True if the hashes of a file are part of what is known of it
    """

    name: str
    format: str
    needs: tuple[str, ...]
    may_have: tuple[str, ...]
    columns: Mapping[str, str]
    settings: SettingNames
    unit: Mapping[str, str] = field(default_factory=dict)
    held: pa.Table | None = None
    row_name: Callable[[int], str] | None = None
    is_hashed: bool = True

    @property
    def path(self) -> Place:
        return parse_place(self.name)

    @property
    def fields(self) -> tuple[str, ...]:
        read = (n for n in self.may_have if n not in _WHERE_NAMED or n in self.columns)
        return (*self.needs, *read)

    def theirs(self, name: str) -> str:
        return self.columns.get(name, self.unit.get(name, name))

    @property
    def requests(self) -> tuple[str, ...]:
        """Columns that identify a session, the user's first."""
        return ("user", *self.unit.values())

    def of_requests(self, unit: Sequence[str]) -> "InputTable":
        """Return the table with rows that belong to the sessions these columns identify; to users if there are none."""
        others = {f"{UNIT}{place}": name for place, name in enumerate(unit) if place}
        needs = ("user", *others, *(name for name in self.needs if name != "user"))
        return replace(self, needs=needs, unit=others) if others else self


def resolve_columns(
    columns: tuple[tuple[str, ...], tuple[str, ...]], named: Mapping[str, str | None]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Return required columns, optional columns and their names; a name of None leaves the column out."""
    needs, may_have = columns
    kept = tuple(name for name in may_have if named.get(name, name) is not None)
    return needs, kept, {ours: theirs for ours, theirs in named.items() if theirs is not None}


@dataclass
class Raw:
    """Rows of the relation `raw`: position, then the columns of `kinds` under our names.

    place    : where a row stands, in words, from its position
    problems : rows that could not be read; filled while the rows are being read
    marked   : has `raw` a column `line_wrong`, which says what is wrong with a line?
    rows     : how many there are, where the file tells it before it is read
    others   : the columns that are not read
    """

    kinds: dict[str, Kind]
    place: Callable[[int], str]
    batches: pa.RecordBatchReader | None = None
    problems: list[Problem] = field(default_factory=list)
    marked: bool = False
    rows: int | None = None
    others: tuple[str, ...] = ()


def is_row_level(name: str) -> bool:
    """True if a column holds one value a row even if rows hold lists."""
    return name == "user" or name.startswith(UNIT)


def role_of(name: str) -> Literal["id", "rank", "time", "number"]:
    """Return what a column holds."""
    if name.startswith(UNIT):
        return "id"
    roles = {"user": "id", "item": "id", "rank": "rank", "time": "time"}
    return roles.get(name, "number")  # type: ignore[return-value]


def choose_columns(file: InputTable, found: Sequence[str]) -> dict[str, str]:
    """Return {our name: name in the table} for every column to read; raise for missing and repeated names."""
    listed = ", ".join(found)
    problems = repeated_names(file.name, found)
    asked = [name for name in file.fields if name in file.needs or name in file.columns]
    for name in asked:
        if file.theirs(name) not in found:
            near = difflib.get_close_matches(file.theirs(name), found, n=1, cutoff=0.7)
            meant = f"did you mean {near[0]!r}? Else " if near else ""
            fix = f"{meant}name its own column: {file.settings.columns(name)}"
            if name in file.unit:
                fix = f"{meant}add it where the table is made, or change {file.settings.unit}"
            what = f"is missing; the columns are: {listed}"
            problems.append(Problem(f"{file.name}: column {file.theirs(name)!r}", what, fix))
    chosen = {name: file.theirs(name) for name in file.fields if file.theirs(name) in found}
    problems += [*unnamed_grade(file, found), *shared_columns(file, chosen)]
    if problems:
        raise InputError(problems)
    return chosen


def repeated_names(table: str, names: Sequence[str]) -> list[Problem]:
    """Return a problem for each column name that occurs several times."""
    return [
        Problem(
            f"{table}: column {name!r}",
            f"occurs {times} times",
            "give each column its own name",
        )
        for name, times in Counter(names).items()
        if times > 1
    ]


def shared_columns(file: InputTable, chosen: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each column that is mapped to two of ours."""
    for theirs, times in Counter(chosen.values()).items():
        if times > 1:
            ours = " and ".join(repr(name) for name in chosen if chosen[name] == theirs)
            fix = f"name a column for each in {file.settings.all_columns}, or rename this one where the table is made"
            yield Problem(f"{file.name}: column {theirs!r}", f"would be {ours} at once", fix)


def unnamed_grade(file: InputTable, found: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem if grades are probably in a column of another name: all grades would silently be 1."""
    likely = [name for name in found if re.fullmatch(NAME_OF_GRADES, name.strip().lower())]
    if "grade" in file.may_have and file.theirs("grade") not in found and likely:
        what = f"may hold the grades, and there is no column {file.theirs('grade')!r}"
        named, none = (file.settings.columns("grade", to) for to in (likely[0], "null"))
        fix = f"name it: {named}; if every row counts alike: {none}"
        yield Problem(f"{file.name}: column {likely[0]!r}", what, fix)


def refuse_columns_mapping(file: InputTable, form: str) -> None:
    if file.columns:
        what = f"{form} has no column names"
        raise refuse(file.name, what, f"leave out {file.settings.all_columns}")


def with_positions(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], first: int = 0
) -> pa.RecordBatchReader:
    """Return the batches with a column `position` that counts the rows."""
    whole = schema.append(pa.field("position", pa.int64()))

    def numbered() -> Iterator[pa.RecordBatch]:
        start = first
        for batch in batches:
            position = as_arrow(np.arange(start, start + len(batch)))
            yield pa.RecordBatch.from_arrays([*batch.columns, position], schema=whole)
            start += len(batch)

    return pa.RecordBatchReader.from_batches(whole, numbered())
