"""Input tables: where they are, which columns are read, and their raw rows."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pyarrow as pa

from concord.metrics_core.data.paths import AnyPath, parse_path
from concord.metrics_core.errors import Problem, SettingNames, raise_problems

# How the values of a column are written.
Kind = Literal["text", "integer", "unsigned", "half", "single", "float", "json"]
# What others call the grade, in small letters; some also as a last word, as in user_rating.
GRADES = "gain|grade|label|rating|rel|relevance|score|star|weight"
NAME_OF_GRADES = f"({GRADES})s?|(.*[^a-z])?(grade|rating|relevance)s?[^a-z]*"
# Lists within rows: position = number of the row or line * LINES + place in the list.
LINES = 1 << 32
# What columns and keys of lists are called.
PLURAL = {"item": "items", "rank": "ranks", "score": "scores", "grade": "grades"}
UNIT = "unit_"  # our columns that identify a session: this and a number; the first is the user's
_READ_IF_NAMED = ("time", "propensity", "group")


@dataclass(frozen=True)
class InputTable:
    """A file or a table in memory, and which of its columns are read.

    Attributes
    ----------
    name : str
        Path or address of the file, or the name of an argument; messages begin with it.
    format : str
        One of `source.FORMATS`, or `held` for a table in memory.
    needs, may_have : tuple of str
        Required and optional columns; `time`, `propensity` and `group` are read only if `columns` names them.
    columns : mapping of str to str
        Our name -> name in the table, where they differ.
    settings : SettingNames
        Names of the settings of this table in fixes.
    unit : mapping of str to str
        Columns that identify a session together with the user: our name -> name in the table.
    held : pa.Table, optional
        The table itself, if it is in memory.
    row_name : callable, optional
        Returns the name of a row of `held` for messages, by its number from 0.
    is_hashed : bool
        True if the hashes of a file are part of its description.
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
    def path(self) -> AnyPath:
        return parse_path(self.name)

    @property
    def fields(self) -> tuple[str, ...]:
        """Our names of the columns that are read."""
        read = (n for n in self.may_have if n not in _READ_IF_NAMED or n in self.columns)
        return (*self.needs, *read)

    @property
    def requested(self) -> set[str]:
        """Names in the table of optional columns and of those that `columns` names."""
        return {self.theirs(name) for name in self.may_have} | set(self.columns.values())

    def theirs(self, name: str) -> str:
        """Return the name in the table of one of our columns."""
        return self.columns.get(name, self.unit.get(name, name))

    def location(self, name: str) -> str:
        """Return the location of a problem of one of our columns."""
        return f"{self.name}: column {self.theirs(name)!r}"

    @property
    def requests(self) -> tuple[str, ...]:
        """Columns that identify a session, the user's first."""
        return ("user", *self.unit.values())

    def of_requests(self, unit: Sequence[str]) -> "InputTable":
        """Return the table with rows that belong to the sessions these columns identify; to users if there are none."""
        others = {f"{UNIT}{number}": name for number, name in enumerate(unit) if number}
        needs = ("user", *others, *(name for name in self.needs if name != "user"))
        return replace(self, needs=needs, unit=others) if others else self


def resolve_columns(
    columns: tuple[tuple[str, ...], tuple[str, ...]], names: Mapping[str, str | None]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Return required columns, optional columns and their names; a name of None leaves the column out."""
    needs, may_have = columns
    optional = tuple(name for name in may_have if names.get(name, name) is not None)
    return needs, optional, {name: column for name, column in names.items() if column is not None}


@dataclass
class RawRows:
    """Rows of the relation `raw`: position, then the columns of `kinds` under our names.

    Attributes
    ----------
    row_name : callable
        Returns the name of a row for messages, from its position.
    problems : list of Problem
        Rows that could not be read; filled while the rows are being read.
    marked : bool
        True if `raw` has a column `line_wrong`, which says what is wrong with a line.
    rows : int, optional
        Number of rows, if the file tells it before it is read.
    others : tuple of str
        Columns that are not read.
    """

    kinds: dict[str, Kind]
    row_name: Callable[[int], str]
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
    if is_row_level(name) or name == "item":
        return "id"
    return name if name in ("rank", "time") else "number"  # type: ignore[return-value]


def choose_columns(file: InputTable, names: Sequence[str]) -> dict[str, str]:
    """Return {our name: name in the table} for every column to read.

    Raises
    ------
    InputError
        If a column is missing, is repeated or would be two of ours.
    """
    problems = repeated_names(file.name, names)
    for name in file.fields:
        column = file.theirs(name)
        if column not in names and (name in file.needs or name in file.columns):
            similar = difflib.get_close_matches(column, names, n=1, cutoff=0.7)
            hint = f"did you mean {similar[0]!r}? Else " if similar else ""
            fix = f"{hint}name its own column: {file.settings.columns(name)}"
            if name in file.unit:
                fix = f"{hint}add it where the table is made, or change {file.settings.unit}"
            problem = f"is missing; the columns are: {', '.join(names)}"
            problems.append(Problem(file.location(name), problem, fix))
    columns = {name: file.theirs(name) for name in file.fields if file.theirs(name) in names}
    raise_problems([*problems, *_unnamed_grade(file, names), *shared_columns(file, columns)])
    return columns


def repeated_names(table: str, names: Sequence[str]) -> list[Problem]:
    """Return a problem for each column name that occurs several times."""
    fix = "give each column its own name"
    return [
        Problem(f"{table}: column {name!r}", f"occurs {times} times", fix)
        for name, times in Counter(names).items()
        if times > 1
    ]


def shared_columns(file: InputTable, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each column that is mapped to two of ours."""
    for column, times in Counter(columns.values()).items():
        if times > 1:
            names = " and ".join(repr(name) for name in columns if columns[name] == column)
            fix = f"name a column for each in {file.settings.all_columns}, or rename this one where the table is made"
            yield Problem(f"{file.name}: column {column!r}", f"would be {names} at once", fix)


def _unnamed_grade(file: InputTable, names: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem if grades are probably in a column of another name: all grades would silently be 1."""
    likely = [name for name in names if re.fullmatch(NAME_OF_GRADES, name.strip().lower())]
    if "grade" in file.may_have and file.theirs("grade") not in names and likely:
        problem = f"may hold the grades, and there is no column {file.theirs('grade')!r}"
        with_name, none = (file.settings.columns("grade", to) for to in (likely[0], "null"))
        fix = f"name it: {with_name}; if every row counts alike: {none}"
        yield Problem(f"{file.name}: column {likely[0]!r}", problem, fix)
