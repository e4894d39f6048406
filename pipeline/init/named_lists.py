"""Lists and tables that a command line names, as arguments of `compare` and `evaluate`.

They are recognised as by `concord init`, and the choices are those that it would write.
"""

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.arguments import COLUMNS_OF_ROLE
from concord.metrics_core.data.input_table import InputTable, resolve_columns
from concord.metrics_core.errors import (
    Key,
    Problem,
    SettingNames,
    as_params_line,
    raise_problems,
    refuse,
)
from concord.metrics_core.metrics.label import expand
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.init.choices import SEARCH_PRESET, choose, named_columns, with_user_column
from concord.pipeline.init.discovery import Discovery
from concord.pipeline.init.model_names import name_models
from concord.pipeline.init.named_tables import absolute_file, apply_columns, parse_columns
from concord.pipeline.init.row_filters import set_filters
from concord.pipeline.init.tables import Role, Table, named_table
from concord.pipeline.params.model_names import is_model_name, model_name_problems
from concord.pipeline.params.repository import FILL_IN, relative_path

ROLES: tuple[Role, ...] = ("truth", "train", "items")


@dataclass(frozen=True)
class NamedLists:
    """Arguments of `compare`, and what was chosen for the caller.

    Attributes
    ----------
    models : dict of str to InputTable
        In the order of the command line.
    arguments : dict
        Other arguments of `evaluate` by name.
    options : dict
        Baseline, primary label and minimum relevant difference of `compare`.
    choices : list of str
        What was chosen, as sentences.
    discovery : Discovery
        The tables, as `concord init` takes them.
    given : dict
        Content of params.yaml that the caller chose.
    """

    models: dict[str, InputTable]
    arguments: dict[str, Any]
    options: dict[str, Any]
    choices: list[str]
    discovery: Discovery
    given: dict[str, Any]

    @property
    def files(self) -> set[Path]:
        """The files that are read."""
        tables = [*self.models.values(), *(self.arguments.get(role) for role in ROLES)]
        return {Path(table.name).resolve() for table in tables if table is not None}


def named_lists(options: Namespace) -> NamedLists:
    """Return the tables that the options of `compare` or `evaluate` name.

    Raises
    ------
    InputError
        If a table cannot be read, or a column of users or items is unknown.
    """
    columns = parse_columns(options.column)
    current = Path.cwd()
    paths = {role: path for role in ROLES if (path := getattr(options, role)) is not None}
    discovery = Discovery(
        tables={
            role: named_table(absolute_file(current, path), role, columns.shared)
            for role, path in paths.items()
        },
        models=_models(options.lists, columns.shared),
    )
    apply_columns(discovery, columns)
    discovery.tables["truth"] = with_user_column(discovery.tables["truth"], discovery.models)
    set_filters(discovery)
    raise_problems(_unknown_columns({**discovery.tables, **discovery.models}))
    labels = [text for each in (options.metrics or "").split(",") if (text := each.strip())]
    *_, last = discovery.models
    pinned = preset(options.preset) if options.preset else None
    given = {
        "baseline": options.baseline or last,
        "primary": labels[:1],
        "min_effect": options.min_effect,
        "metrics": labels,
        "preset": options.preset,
    }
    given = {name: value for name, value in given.items() if value not in (None, [])}
    if pinned:
        given["threshold"] = pinned.relevance_threshold
    content, choices = choose(discovery, current, "", {**given, "allow_outside": False})
    grades = {
        "relevance_threshold": content["threshold"],
        "err_max_grade": content["highest"],
    }
    unit = {"unit_mean": "requests"} if content["unit"] else {}
    if len(discovery.models) == 1:  # nothing is compared
        choices = tuple(each for each in choices if not each.keys.startswith("comparison."))
    own = (*discovery.assumptions, *(each for each in choices if each != SEARCH_PRESET))
    return NamedLists(
        models={name: _as_argument(each, name, "recs") for name, each in discovery.models.items()},
        arguments={
            **{role: _as_argument(each, role, role) for role, each in discovery.tables.items()},
            "metrics": labels or [*map(str, expand(content["metrics"], content["ks"]))],
            "conventions": {
                "preset": options.preset or "standard",
                **({} if pinned else grades),
                **unit,
            },
            "unit": content["unit"],
            "input": {
                "rank_base": content["rank_base"],
                "repeated_grade": content["repeated_grade"],
            },
        },
        options={name: content[name] for name in ("baseline", "primary", "min_effect")},
        choices=[each.text for each in own],
        discovery=discovery,
        given=given,
    )


def _models(texts: Sequence[str], names: Mapping[str, str]) -> dict[str, Table]:
    """Return the lists by the given names, or names from their paths, in the given order."""
    given = [_name_and_path(text) for text in texts]
    tables = [named_table(absolute_file(Path.cwd(), path), "lists", names) for _, path in given]
    unnamed = {t.path: t for t, (name, _) in zip(tables, given, strict=True) if not name}
    by_path = {path: path.name.split(".")[0] for path in unnamed}
    if len({*by_path.values()}) < len(by_path) or not all(map(is_model_name, by_path.values())):
        folder = Path(os.path.commonpath([path.parent for path in unnamed]))
        found = name_models([*unnamed.values()], folder)
        by_path = {table.path: name for name, table in found.items()}
    models: dict[str, Table] = {}
    for table, (name, path) in zip(tables, given, strict=True):
        own = name or by_path[table.path]
        if own in models:
            problem, fix = f"two lists have the name {own!r}", f"`other={path}`"
            if models[own].path == table.path:
                problem = f"{path!r} is named twice"
                raise refuse(COMMAND_LINE, problem, "name another file")
            raise refuse(COMMAND_LINE, problem, f"give one another name: {fix}")
        models[own] = table
    raise_problems(replace(each, location=COMMAND_LINE) for each in model_name_problems(models))
    return models


def _name_and_path(text: str) -> tuple[str, str]:
    """Return the parts of `als=runs/als.csv`; no name if the text is a path."""
    name, equals, path = text.partition("=")
    return ("", text) if not equals or Path(text).exists() else (name, path)


def _unknown_columns(tables: Mapping[str, Table]) -> Iterator[Problem]:
    for name, table in tables.items():
        for column, found in table.columns.items():
            if found == FILL_IN:
                problem = f"no column is known as {column}: {', '.join(table.file.columns)}"
                fix = f"name it: `--column {name}.{column}=NAME`"
                fix += f", or rank: `--column {name}.rank=NAME`" if column == "score" else ""
                yield Problem(name, problem, fix)


def _as_option(key: Key, value: Any = ...) -> str:
    """Return a setting as an option of the command, else as a line of params.yaml."""
    if key[-1] in ("format", "order", "preset"):
        return ""
    if "columns" in key[-2:]:
        column = "COLUMN" if key[-1] == "columns" else key[-1]
        return f"`--column {key[1]}.{column}={'NAME' if value is ... else value}`"
    return f"{as_params_line(key, value)} (in params.yaml, which `concord init` writes)"


def _as_argument(table: Table, name: str, role: str) -> InputTable:
    """Return a table as the library reads it, with a relative path as in the command line."""
    columns = resolve_columns(COLUMNS_OF_ROLE[role], named_columns(table, {}))
    key = {"recs": ("models", name), "truth": ("data", name)}.get(role, ("background", name))
    path, settings = relative_path(table.path), SettingNames(key, _as_option)
    return InputTable(path, table.file.format, *columns, settings, where=table.file.where)
