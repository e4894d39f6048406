"""Input tables: where they are, which columns are read, their raw rows and display words."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pyarrow as pa

from concord.metrics_core.conventions.display_words import changed_words
from concord.metrics_core.data.argument_types import Value
from concord.metrics_core.data.column_names import (
    guess_columns,
    is_beir,
    is_search_name,
    normalise_name,
    possible_columns,
    user_of_values,
)
from concord.metrics_core.data.formats import DELIMITERS
from concord.metrics_core.data.paths import AnyPath, parse_path
from concord.metrics_core.data.row_filter import RowFilter
from concord.metrics_core.errors import Problem, SettingNames, raise_problems

# How the values of a column are written.
Kind = Literal["text", "integer", "unsigned", "half", "single", "float", "json"]
# Other names of the grade, in lower case; some also as a last word, as in user_rating.
GRADE_WORDS = "gain|grade|label|rating|rel|relevance|score|star|weight"
GRADE_NAME = f"({GRADE_WORDS})s?|(.*[^a-z])?(grade|rating|relevance)s?[^a-z]*"
# Position of an item in a list within a row: number of the row or line * ROW_STRIDE + list index.
ROW_STRIDE = 1 << 32
PLURALS = {"item": "items", "rank": "ranks", "score": "scores", "grade": "grades"}  # names of lists
UNIT_PREFIX = "unit_"  # our columns that identify a session: this and a number; 0 is the user
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_EITHER = {"rank": "score", "score": "rank"}  # lists need one of them
_PYTERRIER = {"qid", "docno", "score", "rank"}  # columns of its results
_READ_IF_MAPPED = ("time", "propensity", "subtopic", "group")
# Required and optional columns of each table.
LIST_COLUMNS = (("user", "item"), ("rank", "score"))
PREDICTED = "predicted"  # grade of a judge; only `ppi` reads it
PPI_READS = "`ppi` reads grades of people for some queries and of a judge for all"
TRUTH_COLUMNS = (("user", "item"), ("grade", "time", "propensity", PREDICTED, "subtopic"))
TRAIN_COLUMNS = (("user", "item"), ("time",))
INTERACTIONS_COLUMNS = (("user", "item", "time"), ("grade",))
ITEMS_COLUMNS = (("item",), ("categories", "vector", "title", "group"))
USERS_COLUMNS: tuple[tuple[str, ...], tuple[str, ...]] = (("user",), ())


@dataclass(frozen=True)
class InputTable:
    """A file or a table in memory, and which of its columns are read.

    Columns have our names, such as `user`, and their original names in the table.

    Attributes
    ----------
    name : str
        Path or address of the file, or the name of an argument; messages begin with it.
    format : str
        One of `formats.FORMATS`, or `held` for a table in memory.
    required, optional : tuple of str
        Our names of the columns; `time`, `propensity`, `subtopic` and `group` are read only if
        `columns` maps them.
    columns : mapping of str to str
        Our name -> original name, where they differ.
    settings : SettingNames
        Names of the settings of this table in fixes.
    unit : mapping of str to str
        Columns that identify a session together with the user: our name -> original name.
    rows : pa.Table, optional
        The table itself, if it is in memory.
    row_name : callable, optional
        Returns the name of a row of `rows` for messages, by its number from 0.
    is_hashed : bool
        True if the hashes of a file are part of its description.
    words : mapping of str to str
        Of ground truth: the words that texts show for user, item and request.
    is_additional : bool
        True for a table with more judgements, whose columns have our names.
    order : str or None
        What orders lists: rank, score or file; None for rank if there are ranks, else score.
        TREC files and tables of PyTerrier have both, and are ordered by score.
    where : mapping of str to str, int, float or bool
        Original name of a column -> value: only rows with these values are read.
    truth : InputTable, optional
        Of recommendations: the ground truth, if hints may look at its columns.
    shared : frozenset of str
        Our names of columns whose original name holds for all tables of a call.
    """

    name: str
    format: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    columns: Mapping[str, str]
    settings: SettingNames
    unit: Mapping[str, str] = field(default_factory=dict)
    rows: pa.Table | None = None
    row_name: Callable[[int], str] | None = None
    is_hashed: bool = True
    words: Mapping[str, str] = field(default_factory=dict)
    is_additional: bool = False
    order: str | None = None
    where: Mapping[str, Value] = field(default_factory=dict)
    truth: "InputTable | None" = None
    shared: frozenset[str] = frozenset()

    @property
    def path(self) -> AnyPath:
        return parse_path(self.name)

    @property
    def fields(self) -> tuple[str, ...]:
        """Our names of the columns that are read."""
        read = (n for n in self.optional if n not in _READ_IF_MAPPED or n in self.columns)
        return (*self.required, *(name for name in read if name != PREDICTED))

    @property
    def requested(self) -> set[str]:
        """Original names of optional columns and of those that `columns` maps."""
        return {self.original_name(name) for name in self.optional} | set(self.columns.values())

    @property
    def reading(self) -> dict[str, Any]:
        """How the table is read, as in quality files."""
        names = ("required", "optional", "columns", "unit", "order")
        return {name: getattr(self, name) for name in names} | {"shared": sorted(self.shared)}

    def original_name(self, name: str) -> str:
        """Return the name in the table of one of our columns."""
        return self.columns.get(name, self.unit.get(name, name))

    def location(self, name: str) -> str:
        """Return the location of a problem of one of our columns."""
        return f"{self.name}: column {self.original_name(name)!r}"

    def with_unit(self, unit: Sequence[str]) -> "InputTable":
        """Return the table with rows that belong to sessions, identified by the columns of `unit`.

        An empty unit leaves rows that belong to users.
        """
        unit_names = {f"{UNIT_PREFIX}{number}": name for number, name in enumerate(unit) if number}
        required = ("user", *unit_names, *(name for name in self.required if name != "user"))
        return replace(self, required=required, unit=unit_names) if unit_names else self


def resolve_columns(
    columns: tuple[tuple[str, ...], tuple[str, ...]], names: Mapping[str, str | None]
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Return required columns, optional columns and original names.

    An optional column whose original name is None is left out.
    """
    required, optional = columns
    read = tuple(name for name in optional if names.get(name, name) is not None)
    return required, read, {name: column for name, column in names.items() if column is not None}


@dataclass
class RawRows:
    """Rows of the relation `raw`: position, then the columns of `kinds` under our names.

    Attributes
    ----------
    row_name : callable
        Returns the name of a row for messages, from its position.
    problems : list of Problem
        Rows that could not be read; filled while the rows are being read.
    has_line_errors : bool
        True if `raw` has a column `line_error`, which says what is wrong with a line.
    rows : int, optional
        Number of rows, if the file states it.
    filter : RowFilter
        Filter of the rows; it counts them while they are being read.
    unread_columns : tuple of str
        Columns that are not read.
    aliases : mapping of str to str
        Our name -> original name of columns that were recognised by names of search.
    n_empty : int
        Number of lists without items; filled while the rows are being read.
    marks_empty : bool
        True if `raw` has a row with index 0 for each list without items.
    """

    kinds: dict[str, Kind]
    row_name: Callable[[int], str]
    batches: pa.RecordBatchReader | None = None
    problems: list[Problem] = field(default_factory=list)
    has_line_errors: bool = False
    rows: int | None = None
    filter: RowFilter = field(default_factory=lambda: RowFilter({}))
    unread_columns: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    n_empty: int = 0
    marks_empty: bool = False


def is_row_level(name: str) -> bool:
    """True if a column holds one value a row even if rows hold lists."""
    return name == "user" or name.startswith(UNIT_PREFIX)


def role_of(name: str) -> Literal["id", "rank", "time", "number"]:
    """Return what a column holds."""
    if is_row_level(name) or name in ("item", "subtopic"):
        return "id"
    return name if name in ("rank", "time") else "number"  # type: ignore[return-value]


def find_aliases(file: InputTable, names: Sequence[str]) -> dict[str, str]:
    """Return {our name: original name} of columns with names of search, such as `qid`.

    Our own names and those that `columns` maps have precedence. A name of search counts only if no
    other column may be the same, and only in a table whose users have such a name.
    """
    if file.required == ("user",):  # values or properties of users
        has_user = "user" in file.columns or "user" in names
        user = None if has_user else user_of_values(names)
        return {} if user is None else {"user": user}
    if not {"user", "item"} <= set(file.required):
        return {}
    missing = [
        column
        for column in ("user", "item", "grade")
        if column in file.fields and column not in file.columns and column not in names
    ]
    single = {
        column: possible[0]
        for column in missing
        if len(possible := _possible_columns(column, names)) == 1
    }
    aliases: dict[str, str] = {c: n for c, n in single.items() if is_search_name(c, n)}
    if single.get("grade") == "score" and is_beir(names):
        aliases["grade"] = "score"
    user = aliases.get("user", file.original_name("user"))
    return aliases if is_search_name("user", user) else {}


def _possible_columns(column: str, names: Sequence[str]) -> list[str]:
    """Return the columns that may hold one of ours."""
    return _grade_names(names) if column == "grade" else possible_columns(column, names)


def without_absent(file: InputTable, names: Sequence[str]) -> InputTable:
    """Return the table without a shared score or rank that it lacks, if it has the other one.

    A name that resembles a column may be misspelled, and stays.
    """
    absent = {
        name
        for name, other in _EITHER.items()
        if name in file.shared
        and file.original_name(name) not in names
        and file.original_name(other) in names
        and not _similar_names(file, name, names)
    }
    columns = {name: column for name, column in file.columns.items() if name not in absent}
    optional = tuple(name for name in file.optional if name not in absent)
    return replace(file, optional=optional, columns=columns)


def choose_columns(
    file: InputTable, names: Sequence[str], *, has_lists: bool = False
) -> dict[str, str]:
    """Return {our name: original name} for every column to read.

    Parameters
    ----------
    has_lists : bool
        True if a row holds the list of a user, whose order may be that of the ranks.

    Raises
    ------
    InputError
        If a column is missing, is duplicate or is mapped to two of ours.
    """
    problems = duplicate_names(file.name, names)
    for name in file.fields:
        column = file.original_name(name)
        if column not in names and (name in file.required or name in file.columns):
            similar = _similar_names(file, name, names)
            hint = f"did you mean {similar}? Else " if similar else ""
            column_fix = f"name its own column: {file.settings.of_table('columns', name)}"
            has_other = has_lists or file.original_name(_EITHER.get(name, "")) in names
            if has_other if name in _EITHER else name in file.shared - {*file.required}:
                none = file.settings.of_table("columns", name, value=None)
                column_fix += f"; if it has none: {none}"
            fix = f"{hint}{column_fix}"
            if name in file.unit:
                unit = file.settings.name("data", "unit")
                fix = f"{hint}add it where the table is made, or change {unit}"
            elif file.is_additional:
                fix = "call the columns user, item and grade where the table is made"
            elif file.format in DELIMITERS and any(map(_NUMBER.fullmatch, names)):
                fix = f"if the first line is data, add a header line. {hint or 'Else '}{column_fix}"
            message = f"is missing; the columns are: {', '.join(names)}"
            problems.append(Problem(file.location(name), message, fix))
    columns = {name: file.original_name(name) for name in file.fields}
    columns = {name: column for name, column in columns.items() if column in names}
    if {*names} >= _PYTERRIER and "rank" not in file.columns and file.order != "rank":
        columns.pop("rank", None)
    raise_problems([*problems, *_grade_problems(file, names), *ambiguous_columns(file, columns)])
    return columns


def _similar_names(file: InputTable, name: str, names: Sequence[str]) -> str:
    """Return columns that may be a missing one: of common names for it, or spelled similarly."""
    free = [each for each in names if each not in file.columns.values()]
    if common := guess_columns(free).get(name):
        several = possible_columns(name, free) if name in ("user", "item") else []
        return " or ".join(map(repr, several if len(several) > 1 else [common]))
    matches = difflib.get_close_matches(file.original_name(name), names, n=1, cutoff=0.7)
    return "".join(map(repr, matches))


def duplicate_names(table: str, names: Sequence[str]) -> list[Problem]:
    """Return a problem for each column name that occurs several times."""
    fix = "give each column its own name"
    return [
        Problem(f"{table}: column {name!r}", f"occurs {times} times", fix)
        for name, times in Counter(names).items()
        if times > 1
    ]


def ambiguous_columns(file: InputTable, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each column that is mapped to two of ours."""
    for column, times in Counter(columns.values()).items():
        if times > 1:
            names = " and ".join(repr(name) for name in columns if columns[name] == column)
            fix = (
                f"name a column for each in {file.settings.of_table('columns')}, "
                "or rename this one where the table is made"
            )
            yield Problem(f"{file.name}: column {column!r}", f"is mapped to both {names}", fix)


def _grade_names(names: Sequence[str]) -> list[str]:
    """Return the columns that may hold grades; scores, which may be of a model, come last."""
    found = [name for name in names if re.fullmatch(GRADE_NAME, name.strip().lower())]
    return sorted(found, key=lambda name: name.strip().lower().startswith("score"))


def _grade_problems(file: InputTable, names: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem if a column looks like grades under another name: all grades would be 1."""
    judge = file.original_name(PREDICTED)
    likely = _grade_names(names) or [judge] * (PREDICTED in file.optional and judge in names)
    if "grade" in file.optional and file.original_name("grade") not in names and likely:
        others = "".join(f", as may {name!r}" for name in likely[1:])
        absent = file.original_name("grade")
        message = f"may hold the grades{others}, and there is no column {absent!r}"
        with_name, none = (
            file.settings.of_table("columns", "grade", value=to) for to in (likely[0], None)
        )
        fix = f"name it: {with_name}; if every row has grade 1: {none}"
        if likely[0] == judge:
            fix += f"; {PPI_READS}"
        yield Problem(f"{file.name}: column {likely[0]!r}", message, fix)


_QUERY = ("query", "queryid", "qid", "topic", "topicid")  # names of columns in search
_DOCUMENT = ("doc", "docid", "docno", "document", "documentid", "corpusid")
SEARCH_WORDS: Mapping[str, str] = {"user": "query", "item": "document"}
_SEARCH: Mapping[str, Mapping[str, str]] = {
    "user": dict.fromkeys(_QUERY, "query"),
    "item": dict.fromkeys(_DOCUMENT, "document")
    | dict.fromkeys(["passage", "passageid"], "passage"),
}


def words_of_table(truth: InputTable) -> dict[str, str] | None:
    """Return the words that are set, or else those that format and columns suggest."""
    if truth.words:
        return changed_words(truth.words)
    if truth.format == "trec":
        return dict(SEARCH_WORDS)
    names = {key: normalise_name(truth.original_name(key)) for key in _SEARCH}
    words = {key: _SEARCH[key][name] for key, name in names.items() if name in _SEARCH[key]}
    return words if "user" in words else None
