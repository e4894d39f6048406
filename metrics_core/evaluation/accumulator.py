"""Counts and sums over the blocks of a model, and the summary that a comparison reads."""

import math
import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.data.tables import Table, read_column, read_if_small, scan
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.diagnostics import (
    LISTED,
    ListCounts,
    PropensityCounts,
    validity,
)
from concord.metrics_core.evaluation.evaluate_block import JUDGED_UNITS, Part, part_names
from concord.metrics_core.evaluation.panel import Definition, Panel, panel
from concord.metrics_core.evaluation.score import MEAN_WEIGHT, mean_weight, uses_user_table
from concord.metrics_core.evaluation.summary import (
    CONFIDENCE,
    summarise,
    summarise_catalogue,
)
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.ties import KINDS, LOW, tie_column
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.summary import Summary
from concord.metrics_core.stats.clusters import Clusters

MADE_NUMBERS = ("concord-eval", "duckdb", "numpy", "polars", "pyarrow", "scipy")
Content = dict[str, Any]


def build_task(
    labels: Sequence[Label],
    conventions: Conventions,
    panels: Mapping[str, Panel],
    *,
    has_users: bool = False,
) -> Task:
    """Return the task of a model: its labels, and the other definitions of the panels.

    Parameters
    ----------
    labels : sequence of Label
        Labels to evaluate.
    conventions : Conventions
        Conventions of the labels.
    panels : Mapping[str, Panel]
        Convention panels of the primary labels.
    has_users : bool
        True if there is a table of users; with propensities, these users are evaluated.
    """
    definitions = [d for each in panels.values() for d in each.definitions if d.number]
    only_known = has_users and uses_user_table(conventions)
    return Task(labels, conventions, only_known=only_known, definitions=definitions)


def build_panels(
    labels: Sequence[Label], primary: Sequence[str], conventions: Conventions
) -> dict[str, Panel]:
    """Return the convention panel of each primary label."""
    return {str(label): panel(label, conventions) for label in labels if str(label) in primary}


@dataclass
class EvaluationAccumulator:
    """Counts, pooled sums and exposures of all blocks.

    Attributes
    ----------
    task : Task
        What is evaluated.
    counts : Counter
        Counts of users and lists, by name.
    pooled : dict of str to list of DataFrame
        Addends of the pooled mean of each column.
    exposures : dict of str to Exposure
        Exposure of the items, by label.
    lists : ListCounts
        Counts of lists.
    owners : set of str
        Users who have a list, if the unit is a request.
    weighing : PropensityCounts
        Counts of inverse propensities.
    """

    task: Task
    counts: Counter[str] = field(default_factory=Counter)
    pooled: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    exposures: dict[str, Exposure] = field(default_factory=dict)
    lists: ListCounts = field(default_factory=ListCounts)
    owners: set[str] = field(default_factory=set)
    weighing: PropensityCounts = field(default_factory=PropensityCounts)

    def add(self, part: Part) -> None:
        """Add the counts of a block."""
        self.counts.update(part.counts)
        self.lists.add(part.lists)
        if self.task.conventions.propensity is not None:
            self.weighing.add(part.values)
        if self.task.conventions.unit_mean is not None:
            self.owners.update(users_of_units(part.values.filter(pl.col(LISTED) > 0)["user"]))
        for name in self.task.columns:
            if set(part_names(name)) <= set(part.values.columns):
                defined = part.values.filter(pl.col(name).is_not_null()).select(part_names(name))
                self.pooled.setdefault(name, []).append(defined)
        for label, exposure in part.exposures.items():
            before = self.exposures.get(label)
            self.exposures[label] = exposure if before is None else before + exposure

    def summaries(
        self, table_of: Callable[[str], Table], confidence: float
    ) -> tuple[dict[str, Summary], dict[str, Summary]]:
        """Return the summaries of labels, and of the panel's other definitions by column.

        Parameters
        ----------
        table_of : callable
            Returns the table with `user` and a column. One column is read at a time, so that memory
            does not grow with their number.
        confidence : float
            Confidence of the intervals.
        """
        pinned, mean = self.task.conventions, self.task.conventions.unit_mean
        n_users = None if mean is None else len(self.owners)
        summaries: dict[str, Summary] = {}
        request_clusters: Clusters | None = None
        last_table: Table | None = None
        for name, (label, conventions) in self.task.columns.items():
            table = table_of(name)
            if mean is not None and table is not last_table:
                request_clusters = Clusters.from_ids(read_column(table, "user"), mean)
                last_table = table
            values, clusters = read_column(table, name), request_clusters
            if (weight := mean_weight(label, conventions)) is not None:
                clusters = Clusters.weighted(
                    read_column(table, weight).to_numpy(), request_clusters
                )
            parts = pl.concat(self.pooled[name]).get_columns() if name in self.pooled else []
            counted = None if clusters is None else values.is_not_null().to_numpy()
            summaries[name] = summarise(
                label,
                values.drop_nulls().to_numpy(),
                conventions,
                confidence=confidence,
                parts=tuple(part.to_numpy() for part in parts),
                clusters=None if clusters is None or counted is None else clusters.select(counted),
            )
        for label in self.task.labels:
            if label.metric.is_aggregate:
                exposure = self.exposures[str(label)]
                summaries[str(label)] = summarise_catalogue(label, exposure, pinned, n_users)
        labels = {name: summaries[name] for name in map(str, self.task.labels)}
        return labels, {each.column: summaries[each.column] for each in self.task.definitions}

    def tie_ranges(self, table_of: Callable[[str], Table]) -> Content:
        """Return the label's means in other orders of equal scores, of labels that depend on it.

        Returns
        -------
        dict
            By label `low`, `high` and `average` (None without an expected value), and `n_users`
            whose value depends on the order.
        """
        ranges: Content = {}
        weights = [*self.task.mean_weights]
        for label in self.task.tie_labels:
            text, conventions = str(label), self.task.conventions
            read = ["user", text, *(tie_column(kind, text) for kind in KINDS), *weights]
            values = scan(table_of(text)).select(read).collect()
            if tie_range := summarise_ties(values, label, conventions):
                ranges[text] = tie_range
        return ranges

    def counts_content(self) -> Content:
        """Return the counts of users and lists, as in the model's summary."""
        counts, ks = self.counts, self.task.cutoffs
        weighing = {"propensity": self.weighing.content} if self.task.conventions.propensity else {}
        return {
            "users": {
                "evaluated": counts["in_truth"],
                **{name: count for name, count in counts.items() if "@" not in name},
                "shorter_than": {str(k): counts[f"shorter_than@{k}"] for k in ks},
            },
            "judged_share": {
                str(k): counts[f"judged@{k}"] / JUDGED_UNITS / max(counts[f"listed@{k}"], 1)
                for k in ks
            },
            **weighing,
            "validity": validity(self.lists, counts, ks),
        }

    def content(
        self,
        model: str,
        table_of: Callable[[str], Table],
        panels: Mapping[str, Panel],
        *,
        confidence: float,
        inputs: Mapping[str, Mapping[str, Any]],
        id_match: Content,
    ) -> Content:
        """Return the summary of a model, as in its file.

        Parameters
        ----------
        model : str
            Name of the model.
        table_of : callable
            Returns the table with `user` and a column.
        panels : dict
            Convention panel of each primary label.
        confidence : float
            Confidence of the intervals.
        inputs : dict
            Content ids of the tables, by role.
        id_match : dict
            Result of `check_ids`.
        """
        once = cache(read_if_small)  # a table has many columns

        def read_table_of(column: str) -> Table:
            table = table_of(column)
            return once(table) if isinstance(table, Path) else table

        labels, definitions = self.summaries(read_table_of, confidence)
        ties = self.tie_ranges(read_table_of)
        return {
            **pinned_content(model, self.task.conventions),
            "metrics": {label: summary_numbers(summary) for label, summary in labels.items()},
            **self.counts_content(),
            "inputs": inputs,
            "versions": dict(program_versions()),
            "id_match": id_match,
            "panel": {label: panel_content(each, definitions) for label, each in panels.items()},
            **({"ties": ties} if ties else {}),
        }


def summarise_definition(frames: Sequence[pl.DataFrame], definition: Definition) -> Summary:
    """Return the summary of a definition over the values of all blocks."""
    prefixes = (f"#{definition.column}#", MEAN_WEIGHT)
    columns = [name for name in frames[0].columns if name.startswith(prefixes)]
    values = pl.concat([frame.select("user", definition.column, *columns) for frame in frames])
    return summarise_column(
        values, definition.column, definition.label, definition.conventions, confidence=CONFIDENCE
    )


def summarise_column(
    values: pl.DataFrame, name: str, label: Label, conventions: Conventions, *, confidence: float
) -> Summary:
    """Return the summary of a column of users' values, without users who are left out."""
    counted = values.filter(pl.col(name).is_not_null())
    parts = tuple(counted[part].to_numpy() for part in part_names(name) if part in counted.columns)
    mean = conventions.unit_mean
    clusters = None if mean is None else Clusters.from_ids(counted["user"], mean)
    if (weight := mean_weight(label, conventions)) is not None:
        clusters = Clusters.weighted(counted[weight].to_numpy(), clusters)
    column = counted[name].to_numpy()
    return summarise(
        label, column, conventions, confidence=confidence, parts=parts, clusters=clusters
    )


def summarise_ties(values: pl.DataFrame, label: Label, conventions: Conventions) -> Content:
    """Return an entry of `tie_ranges`; empty if no value depends on the order."""
    text = str(label)
    columns = {kind: tie_column(kind, text) for kind in KINDS}
    if not (n_users := values[columns[LOW]].count()):
        return {}
    tie_range: Content = {"n_users": n_users}
    for kind, column in columns.items():
        other = values.with_columns(pl.coalesce(column, text).alias(text))
        mean = summarise_column(other, text, label, conventions, confidence=CONFIDENCE).mean
        tie_range[kind] = mean if values[column].count() else None
    return tie_range


def pinned_content(model: str, conventions: Conventions) -> Content:
    """Return the entries that all result files of a model have."""
    return {
        "model": model,
        "values_version": VALUES_VERSION,
        "conventions": conventions.as_dict(),
        "fingerprint": conventions.fingerprint,
    }


@cache
def program_versions() -> Mapping[str, str]:
    """Return the versions of the programs that affect values; cached, because look-ups are slow."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {**{name: version(name) for name in MADE_NUMBERS}, "python": python}


def panel_content(panel: Panel, summaries: Mapping[str, Summary]) -> Content:
    """Return the definitions of a label with their numbers.

    Those of the pinned definition are in the summary under `metrics`.
    """
    return {
        "definitions": [
            {"column": d.column, "presets": d.presets, **summary_numbers(summaries[d.column])}
            if d.number
            else {"column": str(d.label), "presets": d.presets}
            for d in panel.definitions
        ],
        "excluded": panel.excluded,
    }


def summary_numbers(summary: Summary) -> dict[str, float | None]:
    """Return the numbers of a summary, as in its file; None if undefined."""
    return {
        name: None if number is None or math.isnan(number) else number
        for name, number in summary.numbers.items()
    }
