"""Columns that the command line of `concord init` names, and values that the user fills in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.pipeline.init.discovery import Discovery
from concord.pipeline.init.tables import ROLE_COLUMNS, Table, TableFile
from concord.pipeline.params.yaml_files import FILL_IN, YamlFile, load_yaml
from concord.pipeline.terminal.parser import COMMAND_LINE

_OPTION = f"{COMMAND_LINE}: --column"
_COLUMNS = sorted({column for columns in ROLE_COLUMNS.values() for column in columns})
_MODEL = "model-1"  # name of a model whose recommendations are missing


@dataclass(frozen=True)
class NamedColumns:
    """Column of Concord -> name of it: in all tables that have it, and in single tables."""

    shared: Mapping[str, str]
    by_table: Mapping[str, Mapping[str, str]]


def parse_columns(texts: Sequence[str]) -> NamedColumns:
    """Return the columns of texts such as `item=articles` and `als.item=articles`.

    Raises
    ------
    InputError
        If a text names no column of Concord.
    """
    by_table: dict[str, dict[str, str]] = {"": {}}
    for text in texts:
        key, _, name = text.partition("=")
        table, _, column = key.rpartition(".")
        if column not in _COLUMNS or not name:
            problem = f"{text!r} is not a column and its name in the file"
            fix = f"write item=articles, or als.item=articles; columns: {', '.join(_COLUMNS)}"
            raise refuse(_OPTION, problem, fix)
        by_table.setdefault(table, {})[column] = name
    return NamedColumns(by_table.pop(""), by_table)


def apply_columns(discovery: Discovery, columns: NamedColumns) -> None:
    """Set the columns that the command line names for single tables.

    Raises
    ------
    InputError
        If there is no such table or column.
    """
    tables = {**discovery.tables, **discovery.models}
    raise_problems(_unknown_names(tables, columns))
    for group in (discovery.tables, discovery.models):
        for name in group.keys() & columns.by_table.keys():
            group[name] = replace(
                group[name], columns={**group[name].columns, **columns.by_table[name]}
            )


def _unknown_names(tables: Mapping[str, Table], columns: NamedColumns) -> Iterator[Problem]:
    for column, name in columns.shared.items():
        known = {name for table in tables.values() for name in table.file.columns}
        yield from _unknown_column(f"{column}={name}", name, "any table", sorted(known))
    for table, names in columns.by_table.items():
        for column, name in names.items():
            text = f"{table}.{column}={name}"
            if table in tables:
                yield from _unknown_column(text, name, table, tables[table].file.columns)
            else:
                problem = f"{text!r}: no table is called {table!r}"
                fix = f"name one of {', '.join(tables)}, or its file: `--model {table}=PATH`"
                yield Problem(_OPTION, problem, fix)


def _unknown_column(text: str, name: str, table: str, known: Sequence[str]) -> Iterator[Problem]:
    if name not in known:
        problem = f"{text!r}: there is no column {name!r} in {table}"
        yield Problem(_OPTION, problem, suggest(name, known))


def add_missing_tables(discovery: Discovery, project: Path) -> None:
    """Add a ground truth or a model whose path is to be filled in, if there is none."""
    known = next(iter([*discovery.models.values(), *discovery.tables.values()]))
    columns = {name: known.columns[name] for name in ("user", "item")}
    missing = Table(TableFile(project / FILL_IN, "", ()), columns)
    discovery.tables = {"truth": missing, **discovery.tables}
    discovery.models = discovery.models or {_MODEL: missing}


def fill_in_problems(path: Path, text: str) -> list[Problem]:
    """Return the values of the text of params.yaml that are to be filled in."""
    return [*YamlFile(path, text, load_yaml(text, str(path))).fill_in_problems()]


def comments(truth: Table, models: Mapping[str, Table]) -> dict[str, str]:
    """Return the comments of values that are to be filled in, by their keys in params.yaml."""
    texts = {name: _comment(table) for name, table in models.items()}
    if truth.path.name == FILL_IN:
        texts["data.truth.path"] = "the ground truth: interactions that no model was trained on"
    else:
        texts["data.columns"] = _comment(truth)
    return {key: text for key, text in texts.items() if text}


def _comment(table: Table) -> str:
    if table.path.name == FILL_IN:
        return "recommendations of a model: a file or folder"
    if FILL_IN not in table.columns.values():
        return ""
    is_score = table.columns.get("score") == FILL_IN
    hint = "; write rank in place of score if it is one" if is_score else ""
    return f"columns of {table.path.name}: {', '.join(table.file.columns)}{hint}"
