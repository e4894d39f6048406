"""`evaluate`: recommendations and ground truth in; means, users' values and warnings out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.conventions.validation import ConventionError
from concord.metrics_core.data.arguments import Columns, check_columns
from concord.metrics_core.data.frames import Data
from concord.metrics_core.data.loaded_tables import InMemorySink
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.data.side_data import ITEMS_COLUMNS
from concord.metrics_core.data.units import users_of_units, with_parts
from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.evaluation.accumulator import EvaluationAccumulator
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.dataset import TableLoader, ValueFrames, load_dataset
from concord.metrics_core.evaluation.evaluate_model import evaluated_label
from concord.metrics_core.evaluation.inputs import refuse_unit
from concord.metrics_core.evaluation.judge import PROPENSITY
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.evaluation.spark.frames import is_spark
from concord.metrics_core.evaluation.summary import CONFIDENCE, Summary
from concord.metrics_core.evaluation.warnings.data import none_relevant_warnings
from concord.metrics_core.evaluation.warnings.lists import evaluation_warnings
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import Label, parse, with_own_metrics
from concord.metrics_core.metrics.scope import idle_overrides
from concord.metrics_core.results.evaluation import Evaluation


@dataclass(frozen=True)
class FrameValues:
    """Users' values in memory; see `EvaluationValues`."""

    accumulator: EvaluationAccumulator
    store: ValueFrames
    unit: Sequence[str]

    @property
    def by_id(self) -> pl.DataFrame:
        """See `EvaluationValues`."""
        return self.store.labels

    @property
    def per_user(self) -> pl.DataFrame:
        """See `EvaluationValues`."""
        return with_parts(self.by_id, self.unit) if self.unit else self.by_id

    @property
    def n_users(self) -> int:
        """See `EvaluationValues`."""
        users = self.by_id["user"]
        return users_of_units(users).n_unique() if self.unit else len(users)

    @property
    def n_requests(self) -> int | None:
        """See `EvaluationValues`."""
        return len(self.by_id) if self.unit else None

    @cached_property
    def summaries(self) -> Mapping[str, Summary]:
        """See `EvaluationValues`."""
        return self.accumulator.summaries(self.store.table_of, CONFIDENCE)[0]

    def mean(self, label: str) -> float:
        """See `EvaluationValues`."""
        return self.summaries[evaluated_label(label, self.summaries)].mean


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
) -> Evaluation:
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
    config = EvaluationConfig.of_one_model(labels, pinned)
    if is_spark(recs) or is_spark(truth):
        from concord.metrics_core.evaluation.spark.evaluate import evaluate_frames

        for option, where in ((unit, "unit"), (pinned.propensity, "conventions: propensity")):
            if option:
                problem = "is given, and lists or truth are Spark DataFrames"
                raise refuse(where, problem, "write them to files and give their paths")
        task = Task(labels, pinned, only_known=users is not None)
        return evaluate_frames(
            recs,
            truth,
            task,
            users=users,
            train=train,
            items=items,
            columns=columns,
            policies=input,
        )
    refuse_unit(unit, pinned)
    loader = TableLoader(
        config,
        parse_policies(input or {}),
        check_columns(columns or {}),
        unit,
        is_hashed=False,
        allows_none_relevant=True,
    )
    try:
        dataset = load_dataset(
            loader, {NO_FOLD: truth}, {"train": train, "items": items}, users=users
        )
    except InputError:
        loader.recommendations("recs", recs, InMemorySink().keep)  # their problems come first
        raise
    model = dataset.evaluate("recs", recs, needs_lists=False)
    warnings = [
        *none_relevant_warnings(config, dataset.data),
        *evaluation_warnings(config, {"recs": model.counts()}, dataset.data),
    ]
    values = FrameValues(model.evaluation.accumulator, model.store, unit)
    return Evaluation(pinned, tuple(warnings), values)


def refuse_unread_columns(
    columns: Columns | None, labels: Sequence[Label], pinned: Conventions
) -> None:
    """Refuse a column of numbers that no metric and no convention reads: it may be meant for another."""
    item_columns = columns.get("items") if isinstance(columns, Mapping) else None
    read = {name for label in labels for name in label.metric.columns}
    if (pinned.propensity or {}).get("column") == "items":
        read.add(PROPENSITY)
    known = [name for names in ITEMS_COLUMNS for name in names]
    for name in item_columns if isinstance(item_columns, Mapping) else ():
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
    """Return the labels of a list of texts.

    Raises
    ------
    InputError
        It is not a list, or labels are invalid; all of them at once.
    """
    if not isinstance(metrics, Sequence) or isinstance(metrics, str) or not metrics:
        problem = (
            "there is none"
            if isinstance(metrics, Sequence) and not metrics
            else f"{metrics!r} is not a list"
        )
        raise refuse("metrics", problem, "write a list of labels, such as `metrics=['nDCG@10']`")
    labels: list[Label] = []
    problems: list[Problem] = []
    for text in metrics:
        try:
            labels.append(parse(text))
        except InputError as error:  # of an own metric: it says what to do
            problems += error.problems
        except ValueError as error:
            fix = "`concord metrics` lists the metrics"
            problems.append(Problem("metrics", str(error), fix))
    raise_problems(problems)
    return labels
