"""Read a decision: a comparison, and its inputs with numbers instead of ids and without lists."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import polars as pl

from concord.metrics_core.comparison.config import ComparisonConfig, ComparisonOptions
from concord.metrics_core.comparison.inputs import ComparisonInput, ListResults
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.decision.write_decision import COMPARISON, INDEX, SCHEMA, USERS, is_mean
from concord.metrics_core.errors import InputError, refuse, report_missing_extra
from concord.metrics_core.evaluation.accumulator import (
    program_versions,
    summarise_column,
    summarise_ties,
    summary_numbers,
)
from concord.metrics_core.evaluation.model_result import ModelResult, no_lists_data
from concord.metrics_core.evaluation.ties import LOW, tie_column
from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.metrics.value_metric import value_label
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Metric, or_nan
from concord.metrics_core.results.stored import from_content
from concord.metrics_core.stats.randomization_test import JackknifeError, SwapTest

CONCORD = "concord-eval"
DAMAGED = (AttributeError, IndexError, KeyError, TypeError, ValueError)  # of other content
_Users = Mapping[tuple[Any, ...], pl.Series]  # key of a column of all users -> values


def read_decision(path: str | Path) -> "StoredDecision":
    """Return the decision in a file.

    Returns
    -------
    StoredDecision
        `comparison` is the comparison as it was written; `inputs` are read when they are needed.

    Raises
    ------
    InputError
        The file does not exist, is damaged, is no decision, or is of a newer Concord; then the
        message names the version to install.
    """
    try:
        with ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        index, content = json.loads(entries[INDEX]), json.loads(entries[COMPARISON])
        version, schema = index["versions"][CONCORD], int(index["schema"])
        numbers = _numbers(version)
    except FileNotFoundError:
        raise refuse(str(path), "there is no such file", "correct its name") from None
    except (OSError, BadZipFile, *DAMAGED) as error:
        raise unreadable(path, error) from None
    installed = program_versions()[CONCORD]
    if schema > SCHEMA or numbers > _numbers(installed):
        problem = f"was written by Concord {version}, and this is Concord {installed}"
        raise refuse(str(path), problem, f"install that version: pip install {CONCORD}=={version}")
    return StoredDecision(entries, index, from_content(content, f"{path}: {COMPARISON}"))


def read_columns(entries: Mapping[str, Any], folder: str) -> pl.DataFrame:
    """Return the columns of the entries in a folder of a decision."""
    files = [content for name, content in entries.items() if name.startswith(f"{folder}/")]
    return pl.concat(map(pl.read_parquet, files), how="horizontal")


def unreadable(path: str | Path, error: Exception) -> InputError:
    """Return the error of a file that is no decision, or a damaged one."""
    fix = "name a file that `Comparison.save` or `concord run` wrote"
    return refuse(str(path), f"is no decision that can be read: {error}", fix)


def _numbers(version: str) -> list[int]:
    """Return the numbers of the release, without a pre-release or local part."""
    release = re.match(r"[0-9]+(\.[0-9]+)*(?![a-z])", version)
    return [int(number) for number in re.findall(r"[0-9]+", release[0] if release else version)]


@dataclass(frozen=True)
class StoredDecision:
    """A decision that was read.

    Attributes
    ----------
    entries : dict
        Name -> content of each entry of the file.
    index : dict
        Versions, options, shapes and hashes of inputs.
    comparison : Comparison
        The comparison as it was written.
    """

    entries: Mapping[str, bytes]
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
            [*map(self._label, self.comparison.metrics)],
            options.validate_python(self.index["options"], extra="forbid"),
            conventions=Conventions.from_mapping(json.loads(content, object_hook=_number_keys)),
            replicates=self.index["replicates"],
        )

    def _label(self, metric: Metric) -> Label:
        """Return a label; the values of a metric that is not in the catalogue are as given."""
        if metric.label not in self.index["bounds"]:
            return parse(metric.label)
        low, high = self.index["bounds"][metric.label]
        bounds = -math.inf if low is None else low, math.inf if high is None else high
        return value_label(metric.label, higher_is_better=metric.higher_is_better, bounds=bounds)

    @cached_property
    def inputs(self) -> ComparisonInput:
        """Inputs of the comparison, with means that are computed from the stored values."""
        config, frame = self.config, read_columns(self.entries, USERS)
        users: _Users = {tuple(json.loads(column.name)): column for column in frame}
        width = len(str(frame.height))
        ids, owners = (
            numbers.cast(pl.String).str.zfill(width)  # in the order of their texts
            for numbers in (pl.Series(range(frame.height), dtype=pl.Int64), users["user",])
        )
        ids = owners + "/" + ids if config.of_requests else ids
        model_of = {x: m for m, names in config.replicates.items() for x in names.values()}
        results = {}
        for number, (name, summary) in enumerate(self.index["lists"].items()):
            values = read_columns(self.entries, f"values/{number}")
            missing = users.get(("without_list", model_of.get(name, name)))
            results[name] = _result(
                config,
                values.with_columns(ids[values["user"]].alias("user")),
                (ids if missing is None else ids.filter(~missing)).to_frame("user"),
                summary,
            )
        list_results = self._list_results(config, users)
        models = with_replicates(results, config)
        return ComparisonInput(config, models, no_lists_data(), list_results=list_results)

    def _list_results(self, config: ComparisonConfig, users: _Users) -> ListResults:
        items: dict[Any, dict[str, dict[str, Any]]] = {}
        for key, values in users.items():
            if key[0] == "items":
                _, name, k, group, model = key
                of_groups = items.setdefault((config.segments[name], k), {})
                of_groups.setdefault(group, {})[model] = values.to_numpy()
        return ListResults(
            swap_tests={
                (x.label, x.a): SwapTest(or_nan(x.difference), x.n_users, x.n_nonzero, or_nan(x.p))
                for x in self.comparison.pairs
                if x.test == "swap" or x.verdict == "not_comparable"
            },
            swap_errors={
                (label, model): JackknifeError(or_nan(difference), or_nan(error), groups)
                for label, model, difference, error, groups in self.index["swap_errors"]
            },
            user_groups={
                name: (question, names, users["group", name].to_numpy())
                for name, (question, names) in self.index["groups"].items()
            },
            item_groups=items,
        )


def _result(
    config: ComparisonConfig, values: pl.DataFrame, listed: pl.DataFrame, stored: Mapping[str, Any]
) -> ModelResult:
    """Return the results of lists, of which only the users with a list are known."""
    metrics, ties = dict(stored["metrics"]), {}
    for label in config.labels:
        text, conventions, confidence = str(label), config.conventions, config.confidence
        if is_mean(label, config):
            mean = summarise_column(values, text, label, conventions, confidence=confidence)
            metrics[text] = summary_numbers(mean)
        if tie_column(LOW, text) in values.columns:
            ties[text] = summarise_ties(values, label, conventions)
    known = {label: each for label, each in ties.items() if each}
    summary = {**stored, "metrics": metrics, "ties": known, "versions": {}}
    return ModelResult(values, pl.DataFrame(), listed, summary, stored["quality"])


def _number_keys(mapping: dict[str, Any]) -> dict[Any, Any]:
    """Return a mapping with numbers as keys, if all keys are numbers: JSON has them as text."""
    try:
        return {json.loads(key): value for key, value in mapping.items()}
    except ValueError:
        return mapping
