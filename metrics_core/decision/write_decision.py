"""Write a comparison as a decision: its results, options, and values per user, without ids."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from concord.metrics_core.comparison.config import ComparisonConfig, ComparisonOptions
from concord.metrics_core.comparison.described_inputs import describe_inputs
from concord.metrics_core.comparison.differences import compute_swap_errors
from concord.metrics_core.comparison.gate_inputs import gate_models
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.segment_groups import UserGroups, group_items, group_users
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.data.tables import read_column, schema_of
from concord.metrics_core.evaluation.accumulator import program_versions
from concord.metrics_core.evaluation.model_result import ModelResult, results_by_list
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning, or_none
from concord.metrics_core.results.stored import to_json

SCHEMA = 1
ANSWER, COMPARISON, INDEX, USERS = "answer.txt", "comparison.json", "decision.json", "users"
_READABLE = 0o644 << 16  # permissions of an entry
_UNIX = 3
_HIDDEN: dict[type, Any] = {str: "…", list: []}
_ID_DETAILS = frozenset({"example", "item", "listed", "known"})  # of warnings


def write_decision(path: str | Path, comparison: Comparison, inputs: ComparisonInput) -> Path:
    """Write a comparison with the values it is computed from, and return the path.

    The bytes depend only on the comparison and on the versions of programs. The file holds no id
    of a user or item: users are numbers, and examples in warnings and checks are left out.

    Parameters
    ----------
    path : str or Path
        File to write, such as decision.concord.
    comparison : Comparison
        The comparison.
    inputs : ComparisonInput
        The inputs that it was computed from, with evaluated models, replicates and data.

    Returns
    -------
    Path
        The file.
    """
    file = Path(path)
    with ZipFile(file, "w") as archive:
        for name, content in decision_entries(comparison, inputs):
            entry = ZipInfo(name)  # its time is 1 January 1980
            entry.external_attr, entry.create_system = _READABLE, _UNIX
            archive.writestr(entry, content)
    return file


def decision_entries(
    comparison: Comparison, inputs: ComparisonInput
) -> Iterator[tuple[str, str | bytes]]:
    """Yield name and content of each entry of a decision."""
    config, shown = inputs.config, without_ids(comparison)
    yield ANSWER, f"{shown.summary}\n"
    yield COMPARISON, to_json(shown)
    clusters = inputs.aligned.clusters
    numbers = np.arange(len(inputs.aligned.users)) if clusters is None else clusters.user
    order = np.argsort(numbers, kind="stable")  # requests of a user follow one another
    groups = {
        name: group_users(inputs, name, segmentation)
        for name, segmentation in config.segments.items()
        if not isinstance(segmentation, ByPopularity)
    }
    users = chain([(("user",), numbers)], _user_columns(inputs, groups))
    yield from _columns(USERS, ((json.dumps(key), pl.Series(x[order])) for key, x in users))
    positions = [each for model in inputs.models for each in inputs.aligned.positions[model]]
    lists = results_by_list(inputs.models)
    for (name, result), rows in zip(lists.items(), positions, strict=True):
        row = np.argsort(order)[slice(None) if rows is None else rows]
        yield from _columns(f"values/{[*lists].index(name)}", _values(config, result, row))
    options = {field.name: getattr(config, field.name) for field in fields(ComparisonOptions)}
    own_labels = [label for label in config.labels if label.name not in METRIC]
    index = {
        "schema": SCHEMA,
        "versions": program_versions(),
        "options": options,
        "conventions": config.conventions.as_dict(),
        "bounds": {str(x): [*map(or_none, x.metric.range)] for x in own_labels},
        "replicates": config.replicates,
        "groups": {name: [each.question, each.names] for name, each in groups.items()},
        "swap_errors": _swap_errors(inputs),
        "lists": {name: _summary(config, result) for name, result in lists.items()},
        "inputs": describe_inputs(inputs),
    }
    yield INDEX, json.dumps(to_plain(index), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def without_ids(comparison: Comparison) -> Comparison:
    """Return the comparison without ids of users and items, which examples hold."""
    return replace(
        comparison,
        checks=tuple(replace(each, examples=()) for each in comparison.checks),
        warnings=_without_ids(comparison.warnings),
        gate=comparison.gate
        and replace(comparison.gate, doubts=_without_ids(comparison.gate.doubts)),
        quality=_hidden(comparison.quality, {"example", "notes"}),
    )


def _without_ids(warnings: Sequence[DataWarning]) -> tuple[DataWarning, ...]:
    return tuple(replace(each, details=_hidden(each.details, _ID_DETAILS)) for each in warnings)


def _hidden(value: Any, keys: Collection[str]) -> Any:
    """Return the value with the texts under these keys hidden."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: _HIDDEN.get(type(item), item) if key in keys else _hidden(item, keys)
        for key, item in value.items()
    }


def _user_columns(
    inputs: ComparisonInput, groups: Mapping[str, UserGroups]
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield key and column of all users: those without a list, and values of segments."""
    config = inputs.config
    yield from ((("group", name), each.group_numbers) for name, each in groups.items())
    if config.segments:
        yield from ((("without_list", m), missing) for m, missing in inputs.without_list.items())
    for name, segmentation in config.segments.items():
        if isinstance(segmentation, ByPopularity):
            margins = config.gate.segments.get(name, ()) if config.gate else ()
            ks = [config.main_cutoff, *(label.k for label in config.find_labels(margins))]
            for k in dict.fromkeys(k for k in ks if k is not None):
                for group, by_model in group_items(inputs, segmentation, k).values.items():
                    yield from ((("items", name, k, group, m), x) for m, x in by_model.items())


def _values(
    config: ComparisonConfig, result: ModelResult, rows: Ints
) -> Iterator[tuple[str, pl.Series]]:
    """Yield the row of each user among all users, and the values, in the order of rows."""
    order, labels = np.argsort(rows), {*map(str, config.labels)}
    yield "user", pl.Series(rows[order])
    for name in sorted(schema_of(result.values)):
        if name in labels or name.startswith("#"):
            yield name, read_column(result.values, name)[order]


def _columns(folder: str, columns: Iterable[tuple[str, pl.Series]]) -> Iterator[tuple[str, bytes]]:
    """Yield an entry for each column, so that only one is in memory."""
    for number, (name, values) in enumerate(columns):
        file = BytesIO()
        frame = values.alias(name).to_frame()
        frame.write_parquet(file, compression="uncompressed", statistics=False)
        yield f"{folder}/{number}.parquet", file.getvalue()


def is_mean(label: Label, config: ComparisonConfig) -> bool:
    """True if a label's mean follows from its values per user."""
    return not (label.metric.is_aggregate or is_pooled(label, config.conventions))


def _summary(config: ComparisonConfig, result: ModelResult) -> dict[str, Any]:
    """Return what of a summary does not follow from values per user."""
    metrics, fold = result.summary["metrics"], result.quality.get("fold")
    return {
        "users": result.summary["users"],
        "validity": {"users": result.summary.get("validity", {}).get("users")},
        "metrics": {str(x): metrics[str(x)] for x in config.labels if not is_mean(x, config)},
        "quality": {} if fold is None else {"fold": fold},
    }


def _swap_errors(inputs: ComparisonInput) -> list[list[Any]]:
    """Return label, model and jackknife error of differences of a gate over all users."""
    config = inputs.config
    names = [*config.gate.guardrails, *config.gate.success] if config.gate else []
    labels = [label for label in config.find_labels(names) if label.metric.is_aggregate]
    errors = compute_swap_errors(inputs, labels, gate_models(config, inputs.models))
    return [[label, model, *vars(each).values()] for (label, model), each in errors.items()]
