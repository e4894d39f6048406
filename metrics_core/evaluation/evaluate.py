"""`evaluate`: lists and truth in, the mean, the users' values and a summary out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import polars as pl

from concord.metrics_core.conventions.conventions import Conventions, UnitMean
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.conventions.validation import ConventionError
from concord.metrics_core.data.arguments import Columns
from concord.metrics_core.data.frames import Data
from concord.metrics_core.data.quality import SHOWN
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.side_data import ITEMS_COLUMNS
from concord.metrics_core.data.units import users_of_units, with_parts
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.evaluation.diagnostics import KNOWN, LISTED, WeightCounts
from concord.metrics_core.evaluation.inputs import load_inputs
from concord.metrics_core.evaluation.judge import PROPENSITY
from concord.metrics_core.evaluation.listing import number_items
from concord.metrics_core.evaluation.panel import Definition
from concord.metrics_core.evaluation.partition import (
    Task,
    evaluate_partition,
    evaluated,
    joined,
    part_names,
    without_list,
)
from concord.metrics_core.evaluation.result import CONFIDENCE, Told
from concord.metrics_core.evaluation.score import MEAN_WEIGHT, mean_weight
from concord.metrics_core.evaluation.side_data import refuse_missing
from concord.metrics_core.evaluation.spark.frames import is_spark
from concord.metrics_core.evaluation.summary import Summary, summarise, summarise_catalogue
from concord.metrics_core.evaluation.warnings.data import swapped_arguments
from concord.metrics_core.evaluation.warnings.ids import ground_truth_warnings, rewritten_warning
from concord.metrics_core.evaluation.warnings.users import few_lists, heavy_users
from concord.metrics_core.evaluation.warnings.weights import unobserved_warnings
from concord.metrics_core.metrics.exposure import Exposure
from concord.metrics_core.metrics.label import Label, parse, with_own_metrics
from concord.metrics_core.metrics.scope import idle_overrides
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.stats.clusters import Clusters

_GRADES = f"SELECT grade FROM truth GROUP BY grade ORDER BY grade DESC LIMIT {SHOWN + 1}"


@dataclass(frozen=True, repr=False)
class Result(Told):
    """What `evaluate` returns; `result["nDCG@10"]` is the mean, `warnings` are signs that it is not what was meant."""

    values: pl.DataFrame
    task: Task
    exposures: Mapping[str, Exposure]
    warnings: tuple[Warned, ...] = ()
    unit: tuple[str, ...] = ()

    @property
    def per_user(self) -> pl.DataFrame:
        """user, then one Float64 column a label: NaN where undefined, null where the user is left out.

        Of requests: a row each, with the columns of `unit` as text in the place of user.
        """
        return with_parts(self.by_id, self.unit) if self.unit else self.by_id

    @property
    def by_id(self) -> pl.DataFrame:
        """As `per_user`; of requests, with their ids in `user`."""
        return evaluated(self.values, self.task)

    @property
    def unit_mean(self) -> UnitMean | None:
        """Over what means are taken, where values are those of requests."""
        return self.task.conventions.unit_mean

    @property
    def n_users(self) -> int:
        """The users in `per_user`."""
        return self.per_user["user"].n_unique()

    @property
    def _whom(self) -> str:
        requests = f"{len(self.per_user):,} requests of " if self.unit else ""
        return f"{requests}{super()._whom}"

    @cached_property
    def means(self) -> dict[str, Summary]:
        """The summary of each label, at full precision."""
        return {str(label): self._summary(label) for label in self.task.labels}

    def _summary(self, label: Label) -> Summary:
        if label.metric.of_catalogue:
            n_users = None
            if self.unit:
                n_users = users_of_units(self.values.filter(pl.col(LISTED) > 0)["user"]).n_unique()
            exposure = self.exposures[str(label)]
            return summarise_catalogue(label, exposure, self.task.conventions, n_users)
        return summarise_column(
            self.values, str(label), label, self.task.conventions, confidence=CONFIDENCE
        )


def evaluate(
    recs: Data,
    truth: Data,
    *,
    metrics: Sequence[str],
    conventions: ConventionsLike,
    users: Any = None,
    train: Data | None = None,
    items: Data | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    unit: Sequence[str] = (),
) -> Result:
    """Every metric for every user, under the conventions given.

    Tables are polars, pandas or pyarrow frames, whatever else speaks Arrow, paths of files (parquet, arrow, csv, tsv,
    jsonl, TREC), or dicts; or Spark DataFrames: then `per_user` is one too, see docs/how-to/spark.md. They are read and checked as the pipeline reads and checks its files.

    Parameters
    ----------
    recs        : `user`, `item` and `rank` (1, 2, 3 …) and/or `score`; or {user: [item, …]}, best first;
                  or {user: {item: score}}
    truth       : `user`, `item` [, `grade`]; or {user: {item: grade}} or {user: [item, …]}
    metrics     : labels such as "nDCG@10", "RBP(p=0.8)@20"; without @k the whole list counts. One's own metrics by their
                  names, see `concord.metric`, or with their file: "./my_metrics.py:revenue@10"
    conventions : `concord.preset(name)`, the name of a preset, or a dict: `preset` and the conventions that differ
    users       : who is evaluated; else the users of the truth, and as the policies say those of the lists. Under a
                  propensity those of the lists always count: see docs/how-to/exposure-bias.md
    train       : `user`, `item`: what the models learned from; or {user: [item, …]}
    items       : the catalogue: `item` [, `categories`: list of text, or text with `|` between them, or `vector`:
                  list of numbers] and the numbers that metrics of one's own read, each named in `columns`, such as
                  {"items": {"price": "price"}}; and if it is named, {"items": {"group": "provider"}}, the group whose
                  share of attention AWRF and EEL measure; or {item: [category, …]} or {item: [number, …]}
    columns     : what tables call their columns, such as {"recs": {"user": "userId"}}; {"truth": {"grade": None}}:
                  every row counts alike
    input       : what tables may hold beside the usual, such as {"negative_grade": "zero"}: the policies of `input`
                  in params.yaml
    unit        : of requests: the columns of lists and truth that name one, the user's first: ["user", "session"]; the
                  conventions then say `unit_mean`. Frames and files, not dicts; see docs/how-to/sessions.md

    Raises
    ------
    ValueError : what is wrong, where, and what to do; nothing is dropped or filled silently
    """
    labels = parse_labels(metrics)
    pinned = with_own_metrics(parse_conventions(conventions), (label.name for label in labels))
    refuse_unread_columns(columns, labels, pinned)
    task = Task(labels, pinned, only_known=users is not None)
    if is_spark(recs) or is_spark(truth):
        from concord.metrics_core.evaluation.spark.evaluate import evaluate_frames

        how = {"users": users, "train": train, "items": items}
        for asked, where in ((unit, "unit"), (pinned.propensity, "conventions: propensity")):
            if asked:
                what = "is given, and lists or truth are Spark DataFrames"
                raise refuse(where, what, "write them to files and give their paths")
        found = evaluate_frames(recs, truth, task, columns=columns, policies=input, **how)
        return cast("Result", found)  # the same but for `per_user`; no type tells frames apart
    with in_memory() as connection:
        how = {"users": users, "train": train, "items": items}
        passing = (
            task if items is None and not task.needs_items and pinned.propensity is None else None
        )  # else: rows, all of them
        given: dict[str, Any] = {"columns": columns, "policies": input, "unit": unit}
        opened = load_inputs(connection, recs, truth, pinned, task=passing, **given, **how)
        grades = [grade for (grade,) in connection.execute(_GRADES).fetchall()]
        few = grades if len(grades) <= SHOWN else []
        warnings: tuple[Warned, ...] = (
            *ground_truth_warnings(max(grades, default=None), few, opened.fit, task),
            *rewritten_warning(opened.rewritten, [n for n in ("recs",) if n in opened.rewritten]),
        )
        refuse_missing(task, has_train=opened.has_train, catalogue=opened.catalogue)
        task = opened.shelved(task)
        if task.needs_items:
            catalogue = opened.catalogue
            shown = (None, None) if catalogue is None else (catalogue.features, catalogue.groups)
            task = replace(task, items=number_items(connection, *shown))
        part = joined(opened.parts) if opened.parts else evaluate_partition(connection, task)
    if pinned.propensity is not None:
        weighing = WeightCounts()
        weighing.add(part.values)
        weighing.refuse_few(pinned.propensity)
        named = task.only_known
        warnings += tuple(unobserved_warnings(labels, pinned, [weighing.unobserved], named=named))
    known = int(part.values[KNOWN].sum())
    warnings = (
        *warnings,
        *swapped_arguments(part.values, few, has_scores=opened.has_scores),
        *few_lists(without_list(part.values), known, pinned),
        *heavy_users(part.values.filter(pl.col(KNOWN))["user"], pinned),
    )
    return Result(part.values, task, part.exposures, warnings, tuple(unit))


def refuse_unread_columns(
    columns: Columns | None, labels: Sequence[Label], pinned: Conventions
) -> None:
    """Refuse a column of numbers that no metric and no convention reads: it may be meant for another."""
    named = columns.get("items") if isinstance(columns, Mapping) else None
    read = {name for label in labels for name in label.metric.columns}
    if (pinned.propensity or {}).get("column") == "items":
        read.add(PROPENSITY)
    known = [name for names in ITEMS_COLUMNS for name in names]
    for name in named if isinstance(named, Mapping) else ():
        if name not in {*read, *known}:
            fix = f"choose {', '.join(known)}, or a number that a metric of your own reads"
            raise refuse(f"columns: items: {name!r}", "is read by no metric", fix)


def parse_conventions(conventions: ConventionsLike) -> Conventions:
    """The conventions that are meant; refused where an override would change nothing."""
    pinned = resolve_conventions(conventions)
    if idle := idle_overrides(pinned):
        raise ConventionError(idle)
    return pinned


def parse_labels(metrics: Sequence[str]) -> list[Label]:
    """The labels of a list of texts.

    Raises
    ------
    ValueError : it is no list, or a label cannot be read; all of them at once
    """
    if not isinstance(metrics, Sequence) or isinstance(metrics, str) or not metrics:
        what = (
            "there is none"
            if isinstance(metrics, Sequence) and not metrics
            else f"{metrics!r} is no list"
        )
        raise refuse("metrics", what, "write a list of labels, such as `metrics=['nDCG@10']`")
    labels: list[Label] = []
    problems = []
    for text in metrics:
        try:
            labels.append(parse(text))
        except ValueError as error:
            fix = "`concord metrics` lists the metrics"
            problems.append(Problem("metrics", str(error), fix))
    raise_problems(problems)
    return labels


def summarise_column(
    values: pl.DataFrame,
    name: str,
    label: Label,
    conventions: Conventions,
    *,
    confidence: float,
) -> Summary:
    """The summary of one column of a frame of values; users who are left out do not count."""
    counted = values.filter(pl.col(name).is_not_null())
    parts = tuple(counted[part].to_numpy() for part in part_names(name) if part in counted.columns)
    column, mean = counted[name].to_numpy(), conventions.unit_mean
    clusters = None if mean is None else Clusters.from_ids(counted["user"], mean)
    if (weight := mean_weight(label, conventions)) is not None:
        clusters = Clusters.weighted(counted[weight].to_numpy(), clusters)
    how: dict[str, Any] = {"confidence": confidence, "parts": parts, "clusters": clusters}
    return summarise(label, column, conventions, **how)


def mean_of(frames: Sequence[pl.DataFrame], definition: Definition) -> float:
    """The mean of a definition over the values of all partitions."""
    columns = [name for name in frames[0].columns if name.startswith((f"#{definition.column}#", MEAN_WEIGHT))]  # fmt: skip
    values = pl.concat([frame.select("user", definition.column, *columns) for frame in frames])
    how = (definition.label, definition.conventions)
    return summarise_column(values, definition.column, *how, confidence=CONFIDENCE).mean
