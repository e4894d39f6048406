"""Detection of tables: role and columns of a file, by its columns, rows and path."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.data.arrow import decoded_type, is_list
from concord.metrics_core.data.column_names import (
    COLUMN_NAMES,
    guess_columns,
    is_beir,
    normalise_name,
)
from concord.metrics_core.data.formats import DELIMITERS, ENDINGS, format_by_name, is_lfs_pointer
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.json_files import FORM, JSON_LINES
from concord.metrics_core.data.jsonl import first_object
from concord.metrics_core.data.paths import parse_path
from concord.metrics_core.data.text_files import first_line, open_unpacked, read_header, trec_kind
from concord.metrics_core.errors import argument_names, params_keys, refuse
from concord.metrics_core.files import refuse_special
from concord.pipeline.params.repository import FILL_IN, relative_path

LIST_NAMES = "recs recommendations recommended prediction predictions labels"  # and names of items
# Role -> words of a path, the most specific first.
ROLE_WORDS: Mapping[str, str] = {
    "truth": "test holdout heldout truth groundtruth groundtruths qrels gt",
    "validation": "valid validation val dev",
    "train": "train training history",
    "lists": "recs rec recommendations recommendation recommended predictions preds pred topn topk "
    "lists candidates ranked ranking rankings runs scored",
    "items": "items item movies products articles catalog catalogue metadata meta books tracks",
    "users": "users user customers visitors members",
}
_WORD = re.compile(r"[a-z]+")


def guess_list_column(names: Sequence[str]) -> str | None:
    """Return the column with lists of items, by its name or as the only one."""
    known = {*LIST_NAMES.split(), *COLUMN_NAMES["item"].split()}
    for name in names:
        if normalise_name(name) in known:
            return name
    return names[0] if len(names) == 1 and not guess_columns(names) else None


def role_in_path(path: str, roles: Iterable[str]) -> str | None:
    """Return which of these roles the words of a path name; the last such word decides."""
    words = _WORD.findall(path.casefold())
    pairs = [first + second for first, second in pairwise(words)]
    known = {word: role for role in roles for word in ROLE_WORDS[role].split()}
    roles_in_path = [known[word] for word in [*pairs, *words] if word in known]
    return roles_in_path[-1] if roles_in_path else None


POINTER = "pointer"  # format of a file whose data Git LFS has not fetched
TREC = {"run": ("user", "item", "rank", "score"), "qrels": ("user", "item", "grade")}


@dataclass(frozen=True)
class TableFile:
    """A file that may be a table.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        Its format.
    columns : tuple of str
        Columns as `columns` of params.yaml names them: fields of lists of structs, too.
    list_columns : tuple of str
        Columns with a list in each row.
    struct_column : str
        The column with lists of structs; empty if there is none.
    where : mapping of str to str, int or bool
        Column -> value of the rows that are read.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    list_columns: tuple[str, ...] = ()
    struct_column: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)


def inspect_file(path: Path) -> TableFile | None:
    """Return the format and columns of a file; None if Concord cannot read it."""
    format_ = format_by_name(path)
    if format_ is None:
        return None
    try:
        if path.is_file() and is_lfs_pointer(path):
            return TableFile(path, POINTER, ())
        return _READERS[format_](path, format_)
    except (OSError, ValueError, LookupError, RecursionError, csv.Error, pa.ArrowException):
        return None


def parts_of(path: Path) -> list[Path]:
    """Return the file, or the parquet files of a folder in the order of their paths."""
    if not path.is_dir():
        return [path]
    return sorted(part for part in path.rglob("*.parquet") if part.is_file())


def _read_schema(path: Path, format_: str) -> TableFile:
    if format_ == "parquet":
        schema = pq.read_schema(parts_of(path)[0])
    else:
        with pa.memory_map(str(path)) as file:
            schema = pa.ipc.open_file(file).schema
    types = {each.name: decoded_type(each.type) for each in schema}
    lists = {name: kind.value_type for name, kind in types.items() if is_list(kind)}
    fields = {
        name: [each.name for each in kind] if pa.types.is_struct(kind) else []
        for name, kind in lists.items()
    }
    return _with_fields(TableFile(path, format_, tuple(schema.names)), fields)


def _with_fields(file: TableFile, lists: Mapping[str, Sequence[str]]) -> TableFile:
    """Return the table with the fields of its only lists of structs; other `lists` have none."""
    structs = [name for name, fields in lists.items() if fields]
    plain = [name for name in lists if name not in structs]
    if len(structs) != 1:
        return replace(file, list_columns=tuple(plain))
    fields = lists[structs[0]]
    names = dict.fromkeys([*file.columns, *fields])
    columns = tuple(name for name in names if name not in structs)
    return TableFile(file.path, file.format, columns, (*plain, *fields), structs[0])


def _read_header(path: Path, format_: str) -> TableFile:
    line = first_line(path)
    if kind := trec_kind(line.rstrip()):
        return TableFile(path, "trec", TREC[kind])
    (names,) = csv.reader([line], delimiter=DELIMITERS[format_])
    return TableFile(path, format_, tuple(name.lstrip("\ufeff") for name in names))


def _read_keys(path: Path, format_: str) -> TableFile:
    row = first_object(InputTable(str(path), format_, (), (), {}, params_keys("models")))
    lists = {name: value for name, value in row.items() if isinstance(value, list)}
    fields = {
        name: [*value[0]] if value and isinstance(value[0], dict) else []
        for name, value in lists.items()
    }
    return _with_fields(TableFile(path, format_, tuple(row)), fields)


def _trec_columns(path: Path, format_: str) -> TableFile:
    has_four_values = len(first_line(path).split()) == 1 + len(TREC["qrels"])
    is_qrels = has_four_values or ".qrels" in path.suffixes
    return TableFile(path, format_, TREC["qrels" if is_qrels else "run"])


_TEXT = r'"(?:[^"\\]|\\.)*"'
# The first query, and the start of its documents; or predictions of MTEB.
_QUERY = rf'{_TEXT}\s*:\s*(?:\{{\s*(?:\}}|{_TEXT}\s*:\s*-?[0-9])|\[\s*(?:\]|"))'
_BY_QUERY = re.compile(rf'\s*\{{\s*(?:"mteb_model_meta"|{_QUERY})'.encode())
_START = 1 << 16  # bytes
_JSON_KINDS = {"run": "run", "runs": "run", "predictions": "run", "qrels": "qrels"}
_OTHER_JSON = {"config", "meta", "metadata", "metrics", "params", "report", "results", "summary"}


def _json_columns(path: Path, format_: str) -> TableFile:
    """Return the columns of JSON by query, as its name or folder says; none for other JSON."""
    words = _WORD.findall("/".join(path.parts[-2:]).casefold())
    kinds = [_JSON_KINDS[word] for word in words if word in _JSON_KINDS]
    if not kinds or not _OTHER_JSON.isdisjoint(_WORD.findall(path.name.casefold())):
        return TableFile(path, format_, ())
    return json_by_query(path, kinds[-1])


def json_by_query(path: Path, kind: str) -> TableFile:
    """Return the columns of a run or of qrels in JSON by query; none for other JSON."""
    names = tuple(name for name in TREC[kind] if name != "rank")
    with open_unpacked(parse_path(str(path))) as file:
        is_by_query = _BY_QUERY.match(file.read(_START))
    return TableFile(path, "json", names if is_by_query else ())


_READERS: dict[str, Callable[[Path, str], TableFile]] = {
    "parquet": _read_schema,
    "arrow": _read_schema,
    **dict.fromkeys(DELIMITERS, _read_header),
    "jsonl": _read_keys,
    "json": _json_columns,
    "trec": _trec_columns,
}


Columns = dict[str, str]  # column of Concord -> column of the table
_Judgements = Literal["truth", "validation", "train", "train judgements"]
_Lists = Literal["lists", "validation lists", "predictions"]
Role = _Judgements | _Lists | Literal["items", "users", "unknown", "pointer"]
SPLITS = ("truth", "validation", "train")
ROLE_COLUMNS: Mapping[str, tuple[str, ...]] = {  # columns of Concord that are read in each role
    "truth": ("user", "item", "grade", "time"),
    "validation": ("user", "item", "grade", "time"),
    "train": ("user", "item", "time"),
    "train judgements": ("user", "item", "grade"),
    "items": ("item", "categories", "title"),
    "users": ("user",),
    "lists": ("user", "item", "rank", "score"),
    "validation lists": ("user", "item", "rank", "score"),
    "predictions": ("user", "item"),
    "unknown": ("user", "item"),
    "pointer": (),
}


@dataclass(frozen=True)
class Table:
    """A file with its columns, the stage that makes it, and the order of its lists."""

    file: TableFile
    columns: Columns
    stage: str = ""
    order: str | None = None

    @property
    def path(self) -> Path:
        return self.file.path


def guess_role(file: TableFile, path: str, names: Mapping[str, str]) -> Role | None:
    """Return the role of a table; `unknown` for users and items whose role nothing names.

    `names` are the columns that the command line names for all tables.
    """
    if file.format == POINTER:
        return "pointer"
    columns = _columns(file, names)
    if {"user", "item"} <= set(columns):
        interaction_role = _interaction_role(file, path, columns)
        is_users = interaction_role == "unknown" and role_in_path(path, ("users",))
        return "users" if is_users else interaction_role
    if "item" in columns:
        role = role_in_path(path, ("items", "train", "truth", "lists"))
        is_described = "title" in columns or "categories" in columns
        return "items" if role == "items" or (role is None and is_described) else None
    return "users" if "user" in columns and role_in_path(path, ("users",)) else None


def _interaction_role(file: TableFile, path: str, columns: Columns) -> Role:
    """Return the role of a table of users and items.

    A table with rank or score is lists, unless it has grades too, or its file or folder has the
    name of a split. Grades next to scores are those of held-out pairs. A table with many items per
    row is lists, too.
    """
    role = role_in_path(path, (*SPLITS, "lists"))
    split = role_in_path("/".join(Path(path).parts[-2:]), SPLITS)
    if ("rank" in columns or "score" in columns) and "grade" not in columns:
        is_run = ".run" in file.path.suffixes or file.format == "trec"
        role = "lists" if is_run or split is None or role_in_path(path, ("lists",)) else split
    if role == "lists" and {"score", "grade"} <= {*columns} and "rank" not in columns:
        return "predictions"
    if role == "lists" and split == "validation":
        return "validation lists"
    if role == "train" and "qrels" in _WORD.findall(path.casefold()):
        return "train judgements"
    has_lists = columns["item"] in file.list_columns
    usual = "truth" if file.format == "trec" else "unknown"
    return role or ("lists" if has_lists else usual)  # type: ignore[return-value]


def as_table(file: TableFile, role: Role, names: Mapping[str, str], stage: str = "") -> Table:
    """Return the table with the columns that are read in a role.

    Unknown columns of users and items are to be filled in.
    """
    known = _columns(file, names)
    is_lists = role.endswith("lists")
    if is_lists and not {"rank", "score"} & set(known) and "grade" in known:
        known["score"] = known["grade"]
    if "grade" not in known and not is_lists and is_beir(file.columns):
        known["grade"] = known["score"]
    read = [name for name in ROLE_COLUMNS[role] if name in known or name in ("user", "item")]
    columns = {name: known.get(name, FILL_IN) for name in read}
    has_order = {"rank", "score"} & set(columns) or columns.get("item") in file.list_columns
    if not is_lists or has_order:
        return Table(file, columns, stage)
    if FILL_IN in columns.values() and len(file.columns) > len(columns):  # one may be the score
        return Table(file, {**columns, "score": FILL_IN}, stage)
    return Table(file, columns, stage, "file")


def named_table(path: Path, role: Role, names: Mapping[str, str]) -> Table:
    """Return the table that the command line names for a role.

    Raises
    ------
    InputError
        If the file cannot be read as a table.
    """
    location = relative_path(path)
    if not path.exists():
        fix = "name another; `dvc pull` or `dvc repro` may create it"
        raise refuse(location, "there is no such file", fix)
    fix = f"name a file with one of these endings: {', '.join(ENDINGS)}"
    refuse_special(path, fix)
    file = inspect_file(path)
    if file is not None and file.format == "json":  # whatever its name
        file = json_by_query(path, "run" if role == "lists" else "qrels")
        fix = f"{FORM}; of rows, {JSON_LINES}"
    if file is not None and file.format == POINTER:
        raise refuse(location, "is a pointer of Git LFS, not the data", "run `git lfs pull`")
    if file is None or not file.columns:
        raise refuse(location, "cannot be read as a table", fix)
    if file.format in DELIMITERS:  # raises an error for another delimiter
        settings = argument_names("lists")
        read_header(
            InputTable(location, file.format, (), (), {}, settings), DELIMITERS[file.format]
        )
    return as_table(file, role, names)


def _columns(file: TableFile, names: Mapping[str, str]) -> Columns:
    """Return column of Concord -> column of the table; a column of lists may have a plural name."""
    columns = guess_columns(file.columns)
    lists = file.list_columns
    name = None if columns.get("item") in lists else guess_list_column(lists)
    if "user" in columns and name:
        columns["item"] = name
        columns = {key: value for key, value in columns.items() if value != name or key == "item"}
    columns_in_file = {column: name for column, name in names.items() if name in file.columns}
    others = {k: v for k, v in columns.items() if v not in columns_in_file.values()}
    return others | columns_in_file
