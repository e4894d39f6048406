"""Tables of an evaluation: those that the command line of `concord init` names, and others."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.init.choices import with_user_column
from concord.pipeline.init.discovery import MAX_FILES, Choice, Discovery, discover, stage_of
from concord.pipeline.init.row_filters import set_filters, use_splits
from concord.pipeline.init.tables import ROLE_COLUMNS, Role, Table, TableFile, named_table
from concord.pipeline.params.model_names import model_name_problems
from concord.pipeline.params.repository import (
    FILL_IN,
    relative_path,
    repository,
)
from concord.pipeline.running.messages import print_text

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


def find_tables(
    current: Path,
    project: Path,
    truth: str | None,
    models: Sequence[str],
    columns: NamedColumns,
) -> Discovery:
    """Return the tables that the command line names, and detected ones."""
    lists = _named_models(current, models)
    files = [*lists.values(), *([] if truth is None else [absolute_file(current, truth)])]
    if truth is not None and files[-1] in files[:-1]:
        problem = f"{truth!r} is named as ground truth and as a model"
        raise refuse(COMMAND_LINE, problem, "name another file for one of them")
    names = columns.shared
    named_truth = None if truth is None else files[-1]
    discovery = discover(current, project / "results", files, names, named_truth)
    if truth is not None:
        discovery.tables["truth"] = _table(files[-1], "truth", names, discovery)
    use_splits(discovery, names)
    if lists:
        discovery.models = {
            name: _table(file, "lists", names, discovery) for name, file in lists.items()
        }
    if problems := _missing_tables(discovery, current):
        print_discovery(discovery, (), {})
        raise InputError(problems)
    apply_columns(discovery, columns)
    _add_missing_tables(discovery, project)
    discovery.tables["truth"] = with_user_column(discovery.tables["truth"], discovery.models)
    set_filters(discovery)
    return discovery


def _missing_tables(discovery: Discovery, current: Path) -> list[Problem]:
    """Return problems if several tables may be the ground truth, or if all tables are missing."""
    root, problems = repository(current), []
    elsewhere = ""
    if current != root:
        elsewhere = f"run at the root of the repository ({relative_path(root)}), or "
    if "truth" not in discovery.tables and discovery.truth_candidates:
        candidates = [relative_path(path) for path in discovery.truth_candidates]
        fix = f"name the one that no model was trained on: `--truth {shlex.quote(candidates[0])}`"
        problems.append(Problem("ground truth", f"may be {join_names(candidates, 'or')}", fix))
    elif "truth" not in discovery.tables and not discovery.models:
        problem = (
            "no table with columns of users and items (`user_id`, `item_id` …) "
            "has test, holdout or truth in its path"
        )
        fix = f"{elsewhere}name it: `--truth data/heldout.parquet`"
        problems.append(Problem("ground truth", problem, fix))
    if not discovery.models and "truth" not in discovery.tables:
        problem = (
            "no table has columns of users, items and a rank or a score "
            "(`user_id`, `item_id`, `score` …)"
        )
        page = "docs/how-to/from-a-model-to-lists.md"
        fix = f"{elsewhere}name each: `--model als=out/als.csv`; {page} shows how to write them"
        problems.append(Problem("recommendations", problem, fix))
    return problems


def _named_models(current: Path, models: Sequence[str]) -> dict[str, Path]:
    """Return the file of each model that the command line names."""
    files: dict[str, Path] = {}
    for text in models:
        name, equals, path = text.partition("=")
        if not equals:
            fix = "write NAME=PATH: `--model als=out/als.csv`"
            raise refuse(COMMAND_LINE, f"{text!r} names no file", fix)
        if name in files:
            problem = f"two models have the name {name!r}"
            raise refuse(COMMAND_LINE, problem, "give one of them another name")
        files[name] = absolute_file(current, path)
    raise_problems(replace(p, location=COMMAND_LINE) for p in model_name_problems(files))
    return files


def absolute_file(current: Path, path: str) -> Path:
    """Return the absolute path of a file that the command line names."""
    return Path(os.path.abspath(current / path))  # noqa: PTH100  # links are kept


def _table(file: Path, role: Role, names: Mapping[str, str], discovery: Discovery) -> Table:
    """Return a named table; a link of an out may lead out of the repository, as into a cache."""
    stage = stage_of(file, discovery.outs)
    if stage is None and not file.resolve().is_relative_to(repository()):
        raise refuse(
            relative_path(file), "is outside the repository", "copy it into the repository"
        )
    return replace(named_table(file, role, names), stage=stage or "")


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


def _add_missing_tables(discovery: Discovery, project: Path) -> None:
    """Add a ground truth or a model whose path is to be filled in, if there is none."""
    known = next(iter([*discovery.models.values(), *discovery.tables.values()]))
    columns = {name: known.columns[name] for name in ("user", "item")}
    missing = Table(TableFile(project / FILL_IN, "", ()), columns)
    discovery.tables = {"truth": missing, **discovery.tables}
    discovery.models = discovery.models or {_MODEL: missing}


def print_discovery(
    discovery: Discovery, assumptions: Sequence[Choice], models: Mapping[str, Mapping[str, object]]
) -> None:
    """Print tables and assumptions; `models` are the entries of params.yaml."""
    rows = [(role, table, "") for role, table in discovery.tables.items()]
    for name, table in discovery.models.items():
        run = models.get(name, {}).get("training_run_id")
        rows.append((f"model {name}", table, _run_text(run) if isinstance(run, dict) else ""))
    found = [row for row in rows if row[1].path.name != FILL_IN]
    print_list("found", [f"{name:<18} {_table_text(table)}{run}" for name, table, run in found])
    skipped = [f"{relative_path(table.path)}: {table.reason}" for table in discovery.skipped]
    print_list("not used", skipped)
    for name, truth in [*discovery.data_sets.items()][:1]:
        options = shlex.join(["--truth", relative_path(truth), "--dir", f"evaluation/{name}"])
        print_text(f"other data sets: `concord init {options}`, then `concord study` over all")
    print_list(
        "missing; `dvc pull` or `dvc repro` creates it", [*map(relative_path, discovery.missing)]
    )
    if discovery.has_more:
        print_text(f"only {MAX_FILES:,} files were inspected; name others by --truth and --model")
    print_list(
        "assumed; change it in params.yaml", [*map(str, (*discovery.assumptions, *assumptions))]
    )


def print_list(title: str, lines: Sequence[str]) -> None:
    if lines:
        print_text("\n  ".join([title, *lines]))


def _table_text(table: Table) -> str:
    names = table.columns.items()
    columns = ", ".join(name if name == column else f"{name}: {column}" for name, column in names)
    stage = f"   out of {table.stage}" if table.stage else ""
    rows = "".join(f"   where {name}: {value}" for name, value in table.file.where.items())
    return f"{relative_path(table.path)}   {columns}{rows}{stage}"


def _run_text(run: Mapping[str, str]) -> str:
    return f"   MLflow run in {run['file']}{': ' + run['key'] if 'key' in run else ''}"
