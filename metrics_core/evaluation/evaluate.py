"""`evaluate`: the metrics of one model, with warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.display_words import changed_words, refuse_words
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.data.argument_types import Data, PolicyOptions, TableColumns, Truth, Where
from concord.metrics_core.data.arguments import check_columns
from concord.metrics_core.data.filters import check_where
from concord.metrics_core.data.input_table import ITEMS_COLUMNS
from concord.metrics_core.data.load_tables import InMemorySink
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.data.tables import read_frame
from concord.metrics_core.data.units import split_unit_column, users_of_units
from concord.metrics_core.errors import (
    InputError,
    Problem,
    label_fix,
    problems_of,
    raise_problems,
    refuse,
)
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.dataset import TableLoader, load_dataset
from concord.metrics_core.evaluation.evaluate_model import evaluated_label
from concord.metrics_core.evaluation.inputs import refuse_unit
from concord.metrics_core.evaluation.score import uses_user_table
from concord.metrics_core.evaluation.side_data import with_catalogue_size
from concord.metrics_core.evaluation.spark.frames import is_spark
from concord.metrics_core.evaluation.task import PROPENSITY, Task
from concord.metrics_core.evaluation.warnings.data import none_relevant_warnings
from concord.metrics_core.evaluation.warnings.lists import evaluation_warnings
from concord.metrics_core.evaluation.warnings.sanity import list_sanity_warnings
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import Label, parse, with_own_metrics
from concord.metrics_core.metrics.scope import idle_overrides
from concord.metrics_core.results.evaluation import Evaluation
from concord.metrics_core.results.summary import Summary


@dataclass(frozen=True)
class FrameValues:
    """Values per user in memory; see `EvaluationValues`."""

    by_id: pl.DataFrame
    summaries: Mapping[str, Summary]
    unit: Sequence[str]

    @property
    def per_user(self) -> pl.DataFrame:
        """See `EvaluationValues`."""
        return split_unit_column(self.by_id, self.unit) if self.unit else self.by_id

    @property
    def n_users(self) -> int:
        """See `EvaluationValues`."""
        users = self.by_id["user"]
        return users_of_units(users).n_unique() if self.unit else len(users)

    @property
    def n_requests(self) -> int | None:
        """See `EvaluationValues`."""
        return len(self.by_id) if self.unit else None

    def mean(self, label: str) -> float:
        """See `EvaluationValues`."""
        return self.summaries[evaluated_label(label, self.summaries)].mean


def evaluate(
    recs: Data,
    truth: Truth,
    *,
    metrics: Sequence[str],
    conventions: ConventionsLike = "standard",
    users: Data | None = None,
    only_users: Data | Iterable[Any] | None = None,
    train: Data | None = None,
    items: Data | None = None,
    columns: TableColumns | None = None,
    where: Where | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
    words: Mapping[str, str] | None = None,
) -> Evaluation:
    """Evaluate the recommendations of one model.

    Tables are polars, pandas or pyarrow frames, other Arrow tables, paths of files (parquet, arrow,
    csv, tsv, jsonl, TREC) or dicts. The pipeline reads and checks its files in the same way.
    With Spark DataFrames, `per_user` of the result is one too, see docs/how-to/spark.md.

    Parameters
    ----------
    recs : DataFrame, path or dict
        Recommendations: columns `user`, `item` and `rank` (1, 2, 3 …) and/or `score`;
        or {user: [item, …]}, best first; or {user: {item: score}}.
    truth : DataFrame, path or dict
        Ground truth: columns `user`, `item` and optionally `grade`; or {user: {item: grade}} or
        {user: [item, …]}. Of a list, the other tables hold more judgements, see
        docs/how-to/judge.md.
    metrics : sequence of str
        Labels such as "nDCG@10" or "RBP(p=0.8)@20"; without @k the whole list counts.
        User-defined metrics by their names, see `concord.metric`, or with their file:
        "./my_metrics.py:revenue@10".
    conventions : str, Conventions or dict, default="standard"
        A preset's name, `concord.preset(name)`, or a dict of `preset` and conventions that differ.
    users : DataFrame or path, optional
        `user`: exactly these users are evaluated under a propensity, by default those of ground
        truth and lists, see docs/how-to/exposure-bias.md. Without a propensity no value depends on
        such a table, and it is refused.
    only_users : sequence, DataFrame or Path, optional
        Ids of the users to evaluate; by default those of the ground truth and, depending on the
        policies, those of the lists.
    train : DataFrame, path or dict, optional
        Training data: columns `user`, `item`; or {user: [item, …]}.
    items : DataFrame, path or dict, optional
        Catalogue: column `item` and optionally `categories` (list of text, or text with `|` between
        them) or `vector` (list of numbers); or {item: [category, …]} or {item: [number, …]}.
        `columns` names the numbers that user-defined metrics read, such as
        {"items": {"price": "price"}}, and the group of items whose share of attention AWRF and EEL
        measure, such as {"items": {"group": "provider"}}.
    columns : dict, optional
        Column names of all tables, such as {"user": "userId", "item": "movieId"}, and of single
        ones, such as {"recs": {"score": "prediction"}}, which have precedence. With
        {"truth": {"grade": None}} all rows have the same grade.
    where : dict, optional
        Column -> value: only these rows of the recommendations are read, such as
        {"algorithm": "als"}. Of other tables {"truth": {"split": "test"}}.
    input : dict, optional
        Policies for unusual content, such as {"negative_grade": "zero"}, as `input` in params.yaml.
    unit : sequence of str, optional
        Columns of recommendations and ground truth that identify a request, the user's first, such
        as ["user", "session"]; the conventions must then set `unit_mean`. For frames and files, see
        docs/how-to/sessions.md.
    words : dict, optional
        Words that texts show for user, item and request, such as {"user": "query", "item":
        "document"}, which is the default for ground truth of TREC or with columns of search.

    Returns
    -------
    Evaluation
        Means with confidence intervals, values per user, and warnings.

    Raises
    ------
    ValueError
        If the data or arguments are invalid; the message names each problem and its fix.
        No row is dropped or filled silently.

    Examples
    --------
    >>> import concord as cc
    >>> recs = {"u1": ["a", "b"], "u2": ["c"]}
    >>> result = cc.evaluate(recs, {"u1": ["b"], "u2": ["c"]}, metrics=["RR", "P@1"])
    >>> result["RR"]
    0.75
    >>> result.per_user.rows()
    [('u1', 0.5, 0.0), ('u2', 1.0, 1.0)]
    """
    labels = parse_labels(metrics)
    pinned = with_own_metrics(parse_conventions(conventions), (label.name for label in labels))
    refuse_unread_columns(columns, labels, pinned)
    refuse_words(words)
    evaluated_users = _evaluated_users(users, only_users, pinned)
    if is_spark(recs) or is_spark(truth):
        from concord.metrics_core.evaluation.spark.evaluate import evaluate_frames

        subtopics = ((f"metrics: {label}", label.metric.reads_subtopics) for label in labels)
        options = [
            ("unit", unit),
            ("where", where),
            ("conventions.propensity", pinned.propensity),
            *subtopics,
        ]
        for argument, option in options:
            if option:
                problem = "is given, and lists or truth are Spark DataFrames"
                raise refuse(argument, problem, "write them to files and give their paths")
        task = Task(labels, pinned, only_known=evaluated_users is not None)
        evaluation = evaluate_frames(
            recs,
            truth,
            task,
            users=evaluated_users,
            train=train,
            items=items,
            columns=columns,
            policies=input,
        )
        return replace(evaluation, words=changed_words(words))
    tables = {"train": train, "items": items}
    pinned = with_catalogue_size(pinned, tables, columns)
    config = EvaluationConfig.of_one_model(labels, pinned)
    refuse_unit(unit, pinned)
    loader = TableLoader(
        config,
        parse_policies(input or {}),
        check_columns(columns or {}),
        unit,
        words,
        is_hashed=False,
        allows_none_relevant=True,
        where=check_where(where),
    )
    try:
        dataset = load_dataset(loader, {NO_FOLD: truth}, tables, users=evaluated_users)
    except InputError as error:
        of_lists = problems_of(loader.recommendations, "recs", recs, InMemorySink().collect)
        raise InputError([*of_lists, *error.problems]) from None
    model = dataset.evaluate("recs", recs, is_compared=False)
    overlap = dataset.data.train_overlap(of_requests=config.of_requests)
    warnings = [
        *none_relevant_warnings(config, dataset.data),
        *list_sanity_warnings(config, {"recs": model}, dataset.data, None, overlap),
        *evaluation_warnings(config, {"recs": model}, dataset.data, overlap),
    ]
    summaries = {
        label: Summary.from_numbers(each) for label, each in model.summary["metrics"].items()
    }
    values = FrameValues(read_frame(model.values), summaries, unit)
    return Evaluation(pinned, tuple(warnings), values, dataset.data.words)


def _evaluated_users(users: Any, only_users: Any, pinned: Conventions) -> Any:
    """Return the users that are evaluated, if arguments name them."""
    if users is None:
        return only_users
    if only_users is not None:
        raise refuse("only_users", "is given, and so is `users`", "give one of them")
    if uses_user_table(pinned):
        return Path(users) if isinstance(users, str) else users
    fix = "write `only_users=` to evaluate some users only, else leave it out"
    raise refuse("users", "changes no value without a propensity", fix)


def refuse_unread_columns(columns: Any, labels: Sequence[Label], pinned: Conventions) -> None:
    """Raise if no metric and no convention reads a named column; its name may be misspelled."""
    item_columns = columns.get("items") if isinstance(columns, Mapping) else None
    read = {name for label in labels for name in label.metric.columns}
    if (pinned.propensity or {}).get("column") == "items":
        read.add(PROPENSITY)
    known = [name for names in ITEMS_COLUMNS for name in names]
    names = item_columns if isinstance(item_columns, Mapping) else {}
    for name, original in names.items():
        if name not in {*read, *known} and original != "item":  # `check_columns` refuses that
            fix = f"choose {', '.join(known)}, or a number that a metric of your own reads"
            raise refuse(f"columns: items: {name!r}", "is read by no metric", fix)


def parse_conventions(conventions: ConventionsLike) -> Conventions:
    """Return the conventions; raise if an override has no effect."""
    pinned = resolve_conventions(conventions)
    raise_problems(idle_overrides(pinned))
    return pinned


def parse_labels(metrics: Sequence[str]) -> list[Label]:
    """Return the labels of a list of texts.

    Raises
    ------
    InputError
        If it is not a list, or labels are invalid or occur twice; all problems at once.
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
        except InputError as error:  # from a user-defined metric, with its own fix
            problems += error.problems
        except ValueError as error:
            problems.append(Problem("metrics", str(error), label_fix(error)))
    problems += [
        Problem("metrics", f"names {label} more than once", "name each label once")
        for label, times in Counter(labels).items()
        if times > 1
    ]
    raise_problems(problems)
    return labels
