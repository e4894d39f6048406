"""Write a comparison as a decision: its results, options, and values per user, without ids."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl

from concord.metrics_core.comparison.config import ComparisonConfig, ComparisonOptions
from concord.metrics_core.comparison.described_inputs import describe_inputs
from concord.metrics_core.comparison.differences import compute_swap_errors
from concord.metrics_core.comparison.gate_inputs import gate_models
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.segment_groups import UserGroups, group_items, group_users
from concord.metrics_core.comparison.segmentation import ByPopularity
from concord.metrics_core.data.tables import read_column, schema_of
from concord.metrics_core.decision.archive import DecisionWriter
from concord.metrics_core.evaluation.accumulator import program_versions
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.metrics.label import Label, is_pooled
from concord.metrics_core.results.base import to_plain
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning, or_none
from concord.metrics_core.results.stored import to_json

SCHEMA = 1
INDEX, COMPARISON, ANSWER = "decision.json", "comparison.json", "answer.txt"
_HIDDEN = "…"  # instead of an id
_ID_DETAILS = frozenset({"example", "item", "listed", "known"})  # of warnings


def write_decision(path: str | Path, comparison: Comparison, inputs: ComparisonInput) -> Path:
    """Write a comparison with the values it is computed from, and return the path.

    The bytes depend only on the comparison and on the versions of programs. The file holds no id
    of a user or item: users are numbers, and examples in warnings and checks are left out.
    """
    file, config, shown = Path(path), inputs.config, without_ids(comparison)
    order, codes = _order_of_users(inputs)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    with ZipFile(file, "w") as archive:
        writer = DecisionWriter(archive)
        writer.add_text(ANSWER, f"{shown.summary}\n")
        writer.add_text(COMPARISON, to_json(shown))
        groups = {
            name: group_users(inputs, name, segmentation)
            for name, segmentation in config.segments.items()
            if not isinstance(segmentation, ByPopularity)
        }
        users = writer.add_matrix("users", len(order), _user_columns(inputs, order, codes, groups))
        lists = {}
        for number, (name, positions, result) in enumerate(_lists(inputs)):
            where = rank if positions is None else rank[positions]
            columns = _value_columns(config, result, where)
            matrix = writer.add_matrix(f"values/{number}", len(where), columns)
            lists[name] = {**_summary(config, result), "values": asdict(matrix)}
        options = {field.name: getattr(config, field.name) for field in fields(ComparisonOptions)}
        index = {
            "schema": SCHEMA,
            "versions": dict(program_versions()),
            "labels": [_label_content(label) for label in config.labels],
            "conventions": config.conventions.as_dict(),
            "options": to_plain(options),
            "replicates": to_plain(config.replicates),
            "inputs": [to_plain(each) for each in describe_inputs(inputs)],
            "users": asdict(users),
            "groups": {n: {"question": g.question, "names": g.names} for n, g in groups.items()},
            "swap_errors": _swap_errors(inputs),
            "lists": lists,
        }
        writer.add_json(INDEX, index)
    return file


def without_ids(comparison: Comparison) -> Comparison:
    """Return the comparison without ids of users and items, which examples hold."""
    gate, quality = comparison.gate, _hidden(comparison.quality, {"example"})
    return replace(
        comparison,
        checks=tuple(replace(each, examples=()) for each in comparison.checks),
        warnings=_without_ids(comparison.warnings),
        gate=gate and replace(gate, doubts=_without_ids(gate.doubts)),
        quality=quality,
    )


def _without_ids(warnings: Sequence[DataWarning]) -> tuple[DataWarning, ...]:
    return tuple(replace(each, details=_hidden(each.details, _ID_DETAILS)) for each in warnings)


def _hidden(value: Any, keys: Collection[str]) -> Any:
    """Return the value with the texts under these keys hidden."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: _HIDDEN if key in keys and isinstance(item, str) else _hidden(item, keys)
        for key, item in value.items()
    }


def _order_of_users(inputs: ComparisonInput) -> tuple[Ints, Ints]:
    """Return the order in which rows are stored, and the number of each row's user.

    Requests of a user follow one another, so that ids made of these numbers have this order.
    """
    aligned = inputs.aligned
    codes = np.arange(len(aligned.users)) if aligned.clusters is None else aligned.clusters.user
    order = np.argsort(codes, kind="stable")
    return order, codes[order]


def _user_columns(
    inputs: ComparisonInput, order: Ints, codes: Ints, groups: Mapping[str, UserGroups]
) -> Iterator[tuple[Any, pl.Series]]:
    """Yield the number of each user, users without a list, and values of segments."""
    config = inputs.config
    yield ["user"], pl.Series(codes)
    if not config.segments:
        return
    for model, is_missing in inputs.without_list.items():
        yield ["without_list", model], pl.Series(is_missing[order])
    for name, segmentation in config.segments.items():
        if not isinstance(segmentation, ByPopularity):
            yield ["group", name], pl.Series(groups[name].group_numbers[order])
            continue
        margins = config.gate.segments.get(name, ()) if config.gate else ()
        for k in dict.fromkeys([config.main_cutoff, *(x.k for x in config.find_labels(margins))]):
            values = {} if k is None else group_items(inputs, segmentation, k).values
            for group, by_model in values.items():
                for model, column in by_model.items():
                    yield ["items", name, k, group, model], pl.Series(column[order])


def _lists(inputs: ComparisonInput) -> Iterator[tuple[str, Ints | None, ModelResult]]:
    """Yield the name of each list, the positions of its users, and its results."""
    for model, result in inputs.models.items():
        names = [*result.trainings] or [model]
        positions = inputs.aligned.positions[model]
        yield from zip(names, positions, result.replicate_results, strict=True)


def _value_columns(
    config: ComparisonConfig, result: ModelResult, rows: Ints
) -> Iterator[tuple[Any, pl.Series]]:
    """Yield the row of each user among all users, and the values, in the order of rows."""
    order = pl.Series(np.argsort(rows))
    labels = {str(label) for label in config.labels}
    yield "user", pl.Series(rows)[order]
    for name in schema_of(result.values):
        if name in labels or name.startswith("#"):
            values = read_column(result.values, name)
            if name in labels or values.null_count() < len(values):
                yield name, values[order]


def _summary(config: ComparisonConfig, result: ModelResult) -> dict[str, Any]:
    """Return what of a summary does not follow from values per user."""
    metrics, validity = result.summary["metrics"], result.summary.get("validity", {})
    fold = {"fold": result.quality["fold"]} if "fold" in result.quality else {}
    return {
        "users": result.summary["users"],
        "validity": {"users": validity.get("users")},
        "metrics": {str(x): metrics[str(x)] for x in config.labels if not is_mean(x, config)},
        "quality": fold,
    }


def is_mean(label: Label, config: ComparisonConfig) -> bool:
    """True if a label's mean follows from its values per user."""
    return not (label.metric.is_aggregate or is_pooled(label, config.conventions))


def _swap_errors(inputs: ComparisonInput) -> list[list[Any]]:
    config = inputs.config
    names = [*config.gate.guardrails, *config.gate.success] if config.gate else []
    labels = [label for label in config.find_labels(names) if label.metric.is_aggregate]
    if not labels:
        return []
    errors = compute_swap_errors(inputs, labels, gate_models(config, inputs.models))
    return [[label, model, *map(or_none, vars(x).values())] for (label, model), x in errors.items()]


def _label_content(label: Label) -> dict[str, Any]:
    metric = label.metric
    content = {"name": metric.name, "k": label.k, "arguments": [*map(list, label.arguments)]}
    if METRIC.get(metric.name) is metric:
        return content
    names = ("source", "family", "higher_is_better")
    own = {name: getattr(metric, name) for name in names}
    return {**content, "metric": own, "bounds": [or_none(end) for end in metric.range]}
