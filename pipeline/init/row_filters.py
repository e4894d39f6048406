"""Tables with the rows of several models, stages or splits: the filter `where` of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from concord.metrics_core.data.unit_detection import are_session_names
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.init.model_names import unused_name
from concord.pipeline.init.tables import (
    SPLITS,
    Table,
    TableFile,
    distinct_values,
    has_duplicates,
    role_in_path,
)
from concord.pipeline.params.yaml_files import FILL_IN

_MODEL_NAME = re.compile(
    "algo|model|method|system|recommender|variant|approach|pipeline|^(run|seed|tag)$", re.IGNORECASE
)
_STAGE_NAME = re.compile("stage|phase", re.IGNORECASE)
# Values of stages, the last stage first.
_STAGES = ("final", "reranked", "ranked", "scored", "filtered", "candidates", "retrieved")
_MAX_VALUES = 30


def separate_models(
    models: Mapping[str, Table], truth: Table
) -> tuple[dict[str, Table], list[str]]:
    """Return models with one list per user, and sentences on the rows that are theirs.

    A table with the lists of several models is one model per value of a column. Of a table with
    several stages of one list the last stage is a model.
    """
    result: dict[str, Table] = {}
    of_stages: dict[str, list[str]] = {}
    sentences = []
    for name, table in models.items():
        column, values = _separating_column(table, truth.file.columns)
        main = _main_value(column, values)
        if not values:
            result[name] = table
        elif main is not None:
            result[name] = _with_rows(table, column, main)
            others = ", ".join(str(value) for value in values if value != main)
            text = f"rows with {column}: {main} are read, not {others}"
            of_stages.setdefault(text, []).append(name)
        else:
            names = []
            for value in values:
                words = re.findall(r"[A-Za-z0-9.]+", str(value))
                is_short = len(models) > 1 or str(value).isdecimal()
                own = unused_name("-".join([name, *words] if is_short else words), result)
                result[own] = _with_rows(table, column, value)
                names.append(own)
            whose = f"{column} of {table.path.name} separates {join_names(names)}"
            sentences.append(f"{whose} (models.{names[0]}.where)")
    sentences += [
        f"of {join_names(names)} {text} (models.{names[0]}.where)"
        for text, names in of_stages.items()
    ]
    return result, sentences


def _separating_column(table: Table, truth_columns: Sequence[str]) -> tuple[str, list[Any]]:
    """Return a column that separates the lists of a user, and its values; none if there is none.

    Columns that the ground truth has, too, identify sessions.
    """
    columns, file = table.columns, table.file
    if FILL_IN in columns.values() or not {"user", "item"} <= {*columns}:
        return "", []
    key = [columns["user"], columns.get("rank", columns["item"])]
    if not has_duplicates(file, key):
        return "", []
    unread = [name for name in file.columns if name not in (*columns.values(), *truth_columns)]
    for name in sorted(unread, key=lambda name: not _MODEL_NAME.search(name)):
        values = _few_values(file, name)
        is_session = are_session_names([name]) and _main_value(name, values) is None
        if values and not is_session and not has_duplicates(file, [*key, name]):
            return name, values
    return "", []


def _few_values(file: TableFile, column: str) -> list[Any]:
    """Return the values of a column of text, integers or booleans; none if one or many."""
    values = distinct_values(file, column, _MAX_VALUES + 1)
    is_usual = all(isinstance(value, str | int) and value != "" for value in values)
    return values if 1 < len(values) <= _MAX_VALUES and is_usual else []


def _main_value(column: str, values: Sequence[Any]) -> Any:
    """Return the value of the rows to evaluate, of stages or splits; None for others."""
    if not values or _MODEL_NAME.search(column):
        return None
    if (test := _test_value(values)) is not None:
        return test
    stages = [str(value).casefold() for value in values]
    if not _STAGE_NAME.search(column) and not {*stages} <= {*_STAGES}:
        return None
    last = next((stage for stage in _STAGES if stage in stages), stages[-1])
    return values[stages.index(last)]


def with_test_rows(truth: Table) -> tuple[Table, list[str]]:
    """Return the ground truth with a filter, if a column names its splits, and a sentence."""
    for name in truth.file.columns:
        values = [] if name in truth.columns.values() else _few_values(truth.file, name)
        if (test := _test_value(values)) is not None:
            sentence = f"rows with {name}: {test} are the ground truth (data.truth.where)"
            return _with_rows(truth, name, test), [sentence]
    return truth, []


def _test_value(values: Sequence[Any]) -> Any:
    """Return the value that names a test set among names of splits; None without one."""
    roles = [role_in_path(str(value), SPLITS) for value in values]
    return values[roles.index("truth")] if "truth" in roles and None not in roles else None


def _with_rows(table: Table, column: str, value: Any) -> Table:
    return replace(table, file=replace(table.file, where={column: value}))
