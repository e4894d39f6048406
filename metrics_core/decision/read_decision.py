"""Read a decision: a comparison, and its inputs with numbers instead of ids and without lists."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from concord.metrics_core.comparison.config import ComparisonConfig, ComparisonOptions
from concord.metrics_core.comparison.inputs import ComparisonInput, ListResults
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.comparison.segment_groups import UserGroups
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.decision.archive import DecisionArchive
from concord.metrics_core.decision.write_decision import COMPARISON, INDEX, SCHEMA, is_mean
from concord.metrics_core.errors import refuse, report_missing_extra
from concord.metrics_core.evaluation.accumulator import (
    program_versions,
    summarise_column,
    summarise_ties,
    summary_numbers,
)
from concord.metrics_core.evaluation.model_result import ModelResult, no_lists_data
from concord.metrics_core.evaluation.ties import LOW, tie_column
from concord.metrics_core.metrics.catalogue import METRIC
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.value_metric import values_as_given
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import or_nan
from concord.metrics_core.results.stored import from_content
from concord.metrics_core.stats.randomization_test import JackknifeError, SwapTest

_CONCORD = "concord-eval"
_Users = Mapping[tuple[Any, ...], pl.Series]  # key of a column of all users -> values


def read_decision(path: str | Path) -> "StoredDecision":
    """Return the decision in a file.

    Raises
    ------
    InputError
        The file does not exist, is damaged, is no decision, or is of a newer Concord; then the
        message names the version to install.
    """
    archive = DecisionArchive(Path(path))
    index = archive.read_json(INDEX)
    versions = index.get("versions", {})
    version, installed = versions.get(_CONCORD, ""), program_versions()[_CONCORD]
    if index.get("schema") != SCHEMA or _numbers(version) > _numbers(installed):
        problem = f"was written by Concord {version}, and this is Concord {installed}"
        raise refuse(str(path), problem, f"install that version: pip install {_CONCORD}=={version}")
    comparison = from_content(archive.read_json(COMPARISON), f"{path}: {COMPARISON}")
    return StoredDecision(archive, index, comparison)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"[0-9]+", version)]


@dataclass(frozen=True)
class StoredDecision:
    """A decision that was read.

    Attributes
    ----------
    archive : DecisionArchive
        The file.
    index : dict
        Versions, options, shapes and hashes of inputs, and the columns of values.
    comparison : Comparison
        The comparison as it was written.
    """

    archive: DecisionArchive
    index: Mapping[str, Any]
    comparison: Comparison

    @cached_property
    def config(self) -> ComparisonConfig:
        """Configuration of the comparison."""
        with report_missing_extra():
            from pydantic import TypeAdapter  # takes 0.1 s

        content = json.dumps(self.index["conventions"])
        options = TypeAdapter(ComparisonOptions)
        return ComparisonConfig.of(
            [*map(_read_label, self.index["labels"])],
            options.validate_python(self.index["options"], extra="forbid"),
            conventions=Conventions.from_mapping(json.loads(content, object_hook=_number_keys)),
            replicates=self.index["replicates"],
        )

    @cached_property
    def inputs(self) -> ComparisonInput:
        """Inputs of the comparison, with means that are computed from the stored values."""
        config, stored = self.config, self.archive.read_matrix(self.index["users"])
        users: _Users = {tuple(key): values for key, values in stored}
        ids = _ids(users["user",], of_requests=config.of_requests)
        model_of = {x: m for m, names in config.replicates.items() for x in names.values()}
        results = {}
        for name, content in self.index["lists"].items():
            missing = users.get(("without_list", model_of.get(name, name)))
            listed = ids if missing is None else ids.filter(missing == 0)
            results[name] = self._result(content, ids, pl.DataFrame({"user": listed}))
        return ComparisonInput(
            config,
            with_replicates(results, config),
            no_lists_data(),
            list_results=self._list_results(users),
        )

    def _result(
        self, content: Mapping[str, Any], ids: pl.Series, listed: pl.DataFrame
    ) -> ModelResult:
        """Return the results of lists, of which only their users are known."""
        config, conventions = self.config, self.config.conventions
        columns = dict(self.archive.read_matrix(content["values"]))
        values = pl.DataFrame({"user": ids[columns.pop("user").cast(pl.Int64)], **columns})
        metrics, ties = dict(content["metrics"]), {}
        for label in config.labels:
            text = str(label)
            if is_mean(label, config):
                summary = summarise_column(
                    values, text, label, conventions, confidence=config.confidence
                )
                metrics[text] = summary_numbers(summary)
            if tie_column(LOW, text) in columns:
                ties[text] = summarise_ties(values, label, conventions)
        return ModelResult(
            values,
            panel=pl.DataFrame(),
            lists=listed,
            summary={**content, "metrics": metrics, "ties": ties},
            quality=content["quality"],
        )

    def _list_results(self, users: _Users) -> ListResults:
        items: dict[Any, dict[str, dict[str, Any]]] = {}
        for key, values in users.items():
            if key[0] == "items":
                _, name, k, group, model = key
                of_groups = items.setdefault((self.config.segments[name], k), {})
                of_groups.setdefault(group, {})[model] = values.to_numpy()
        return ListResults(
            swap_tests={
                (pair.label, pair.a): SwapTest(
                    or_nan(pair.difference), pair.n_users, pair.n_nonzero, or_nan(pair.p)
                )
                for pair in self.comparison.pairs
                if pair.test == "swap"
            },
            swap_errors={
                (label, model): JackknifeError(*map(or_nan, numbers))
                for label, model, *numbers in self.index["swap_errors"]
            },
            user_groups={
                name: UserGroups(**group, group_numbers=users["group", name].to_numpy())
                for name, group in self.index["groups"].items()
            },
            item_groups=items,
        )


def _ids(numbers: pl.Series, *, of_requests: bool) -> pl.Series:
    """Return ids in the order of their texts: of requests `user/row`, else the row."""
    width = len(str(len(numbers)))
    rows = pl.Series("user", range(len(numbers))).cast(pl.String).str.zfill(width)
    users = numbers.cast(pl.Int64).cast(pl.String).str.zfill(width)
    return (users + "/" + rows).alias("user") if of_requests else rows


def _read_label(content: Mapping[str, Any]) -> Label:
    """Return a label; the values of a metric that is not in the catalogue are as given."""
    name = content["name"]
    metric = METRIC.get(name)
    if "metric" in content:
        low, high = content["bounds"]
        ends = {
            "low": -math.inf if low is None else low,
            "high": math.inf if high is None else high,
        }
        metric = Metric(name, values_as_given, **content["metric"], **ends)
    return Label(metric, content["k"], tuple(map(tuple, content["arguments"])))


def _number_keys(mapping: dict[str, Any]) -> dict[Any, Any]:
    """Return a mapping with numbers as keys, if all keys are numbers: JSON has them as text."""
    try:
        return {json.loads(key): value for key, value in mapping.items()}
    except ValueError:
        return mapping
